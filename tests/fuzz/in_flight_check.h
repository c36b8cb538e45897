// Whether a server kept the bounds of what one stream may have in flight, judged once every step has ended.

#ifndef ENGRAM_TESTS_FUZZ_IN_FLIGHT_CHECK_H_
#define ENGRAM_TESTS_FUZZ_IN_FLIGHT_CHECK_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/fuzz_input.h"

namespace engram {

// Only the end of a step tells whether it was admitted and what it was owed, so each remembers what was open when it
// was sent. Not thread-safe.
class InFlightCheck {
 public:
  // A step that asks for so many bytes of rows.
  void Sent(uint64_t step_id, uint64_t asked_bytes) {
    Step step{asked_bytes, 0, 0, false, true, {}};
    for (const auto& [id, other] : steps_) {
      if (other.open) step.others.push_back({id, other.paid_bytes});
    }
    steps_.try_emplace(step_id, std::move(step));
  }

  void Paid(uint64_t step_id, uint64_t bytes) { steps_.at(step_id).paid_bytes += bytes; }

  // Its last frame: admitted or refused, and the rows of its accepted segments.
  void Ended(uint64_t step_id, bool admitted, uint64_t owed_bytes) {
    Step& step = steps_.at(step_id);
    step.open = false;
    step.admitted = admitted;
    step.owed_bytes = owed_bytes;
  }

  // Every step has ended.
  void RequireBounds(uint64_t steps_max, uint64_t bytes_max) const {
    for (const auto& [id, step] : steps_) {
      if (!step.admitted) continue;
      uint64_t steps = 1;
      uint64_t bytes = step.asked_bytes;
      for (const Other& other : step.others) {
        const Step& open = steps_.at(other.step_id);
        if (!open.admitted) continue;
        ++steps;
        bytes += open.owed_bytes - other.paid_bytes;
      }
      ENGRAM_REQUIRE(steps <= steps_max, absl::StrCat("step ", id, " was one of ", steps, " in flight"));
      ENGRAM_REQUIRE(bytes <= bytes_max, absl::StrCat("with step ", id, " ", bytes, " bytes were owed"));
    }
  }

 private:
  struct Other {
    uint64_t step_id;
    uint64_t paid_bytes;  // by then
  };
  struct Step {
    uint64_t asked_bytes;
    uint64_t paid_bytes;
    uint64_t owed_bytes;
    bool admitted;
    bool open;
    std::vector<Other> others;
  };

  std::map<uint64_t, Step> steps_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_FUZZ_IN_FLIGHT_CHECK_H_
