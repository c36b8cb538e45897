// Sequences on their way from one session to another, perhaps on another server.

#ifndef ENGRAM_CLIENT_TOOL_HANDOVERS_H_
#define ENGRAM_CLIENT_TOOL_HANDOVERS_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "client/tool/token_source.h"
#include "engram/v1/engram.pb.h"

namespace engram {

struct Handover {
  Sequence sequence;
  std::optional<v1::HashState> state;  // as the server exported it at the sequence's end; none: to be seeded anew
  size_t server = 0;                   // where the sequence was
};

// Of one stream, over all its servers. Keeps a few: a newcomer replaces any of them. Not thread-safe.
class Handovers {
 public:
  bool empty() const { return waiting_.empty(); }

  void Add(Handover handover, TrafficRandom& random) {
    if (waiting_.size() < kWaitingMax) {
      waiting_.push_back(std::move(handover));
    } else {
      waiting_[random() % kWaitingMax] = std::move(handover);
    }
  }

  // One of them, which stays: a prefill may seed several decodes. Required: not empty.
  const Handover& Any(TrafficRandom& random) const { return waiting_[random() % waiting_.size()]; }

 private:
  static constexpr size_t kWaitingMax = 16;
  std::vector<Handover> waiting_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_HANDOVERS_H_
