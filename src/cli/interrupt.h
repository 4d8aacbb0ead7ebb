// Ctrl+C: the first one stops the generation at work, the second leaves.
#pragma once

namespace etch {
class Session;
}

namespace etch::cli {

class Interrupt {
 public:
  explicit Interrupt(Session& session);  // one at a time
  ~Interrupt();
  bool happened() const;
};

}  // namespace etch::cli
