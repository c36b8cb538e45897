#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/tool/verify_run.h"

namespace engram {
namespace {

constexpr size_t kDepthMax = 8;
// A bound of our own where the server states none.
constexpr uint64_t kBytesInFlightMax = uint64_t{256} << 20;

struct InFlight {
  PlannedStep planned;
  StepHandle handle;
};

class RandomRun {
 public:
  RandomRun(Client& client, Traffic& traffic, Comparer& comparer, uint64_t seed)
      : client_(client), traffic_(traffic), comparer_(comparer), random_(seed) {
    const v1::Welcome& welcome = client.welcome();
    if (welcome.steps_in_flight_max() != 0) depth_max_ = std::min<size_t>(depth_max_, welcome.steps_in_flight_max());
    if (welcome.bytes_in_flight_max() != 0) bytes_max_ = std::min(bytes_max_, welcome.bytes_in_flight_max());
  }

  absl::Status SubmitNext() {
    PlannedStep planned = traffic_.Next();
    const size_t depth = 1 + random_() % depth_max_;
    while (!in_flight_.empty() && (in_flight_.size() >= depth || bytes_ + planned.reply_bytes > bytes_max_)) {
      if (absl::Status status = FinishOldest(); !status.ok()) return status;
    }
    absl::StatusOr<StepHandle> handle = client_.Submit(planned.request);
    if (!handle.ok()) return handle.status();
    bytes_ += planned.reply_bytes;
    in_flight_.push_back({std::move(planned), *std::move(handle)});
    return absl::OkStatus();
  }

  absl::Status FinishOldest() {
    InFlight oldest = std::move(in_flight_.front());
    in_flight_.pop_front();
    bytes_ -= oldest.planned.reply_bytes;
    absl::StatusOr<StepResult> result = WaitPatiently(oldest.handle);
    if (!result.ok()) return result.status();
    traffic_.TakeStates(oldest.planned, *result);
    return comparer_.Compare(oldest.planned.expected, *result);
  }

  absl::Status FinishAll() {
    while (!in_flight_.empty()) {
      if (absl::Status status = FinishOldest(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Client& client_;
  Traffic& traffic_;
  Comparer& comparer_;
  TrafficRandom random_;
  size_t depth_max_ = kDepthMax;
  uint64_t bytes_max_ = kBytesInFlightMax;
  std::deque<InFlight> in_flight_;
  uint64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<StepResult> WaitPatiently(StepHandle& handle) {
  if (handle.WaitFor(kStepPatience)) return handle.Wait();
  return absl::DeadlineExceededError(
      absl::StrCat("step ", handle.step_id(), " was not answered within ", absl::FormatDuration(kStepPatience)));
}

absl::Status RunRandom(Client& client, Traffic& traffic, Comparer& comparer, absl::Duration duration, uint64_t steps,
                       uint64_t seed) {
  const absl::Time end = absl::Now() + duration;
  RandomRun run(client, traffic, comparer, seed);
  absl::Status status;
  for (uint64_t i = 0; status.ok() && (steps == 0 || i < steps) && absl::Now() < end; ++i) status = run.SubmitNext();
  const absl::Status finished = run.FinishAll();
  return status.ok() ? finished : status;
}

}  // namespace engram
