#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "session/session.h"

namespace etch::cli {
namespace {

// A signal handler has no context of its own, hence these two.
std::atomic<Session*> session_at_work = nullptr;
std::atomic<int> n_interrupts = 0;

void on_interrupt(int) {
  if (++n_interrupts > 1) _exit(130);
  if (Session* s = session_at_work) s->cancel();
}

void set_handler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(Session& session) {
  n_interrupts = 0;
  session_at_work = &session;
  set_handler(on_interrupt);
}
Interrupt::~Interrupt() {
  set_handler(SIG_DFL);
  session_at_work = nullptr;
}
bool Interrupt::happened() const { return n_interrupts > 0; }

}  // namespace etch::cli
