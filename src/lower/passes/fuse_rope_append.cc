// k turns on its way into the cache, q on its way into the scores: no turned copy is stored.
#include "lower/passes.h"
#include "lower/uses.h"

namespace etch {
namespace {

// The rope call behind rows of heads that `reader` alone reads.
DraftCall* rope_behind(Draft& draft, const Uses& uses, DraftCall& reader, std::string_view field,
                       int64_t n, int64_t d) {
  const std::string f(field);
  DraftCall* rope = uses.maker_for(draft, reader.place(f + ".at"), reader);
  if (rope == nullptr || rope->kind != ArgsKind::rope || rope->i32("inverse") != 0) return nullptr;
  const RowsView y = rope->view("y", d);
  if (rope->i64("d") != d || y.rows.per != n || y.rows.of != ETCH_TOKENS) return nullptr;
  RowsView read = reader.view(field, d);
  read.rows = y.rows;
  return read == y ? rope : nullptr;
}

bool turn_inside(Draft& draft, const Uses& uses, DraftCall& call, std::string_view field,
                 int64_t n) {
  const int64_t d = call.i64("d_k");
  DraftCall* rope = rope_behind(draft, uses, call, field, n, d);
  if (rope == nullptr) return false;
  call.set_view(field, rope->view("x", d));
  call.set("table", rope->place("table"));
  call.set("pairs", rope->i64("pairs"));
  call.set("layout", rope->i32("layout"));
  rope->dead = true;
  return true;
}

}  // namespace

int64_t fuse_rope_append(Draft& draft, const Target&) {
  int64_t changes = 0;
  const Uses uses(draft);
  for (DraftCall& call : draft.calls) {
    if (call.dead) continue;
    if (call.kind == ArgsKind::append)
      changes += turn_inside(draft, uses, call, "k", call.i64("n"));
    if (call.kind == ArgsKind::attend && call.op == "attend")
      changes += turn_inside(draft, uses, call, "q", call.i64("n_q"));
  }
  return changes;
}

}  // namespace etch
