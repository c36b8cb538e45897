#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/tool/verify_run.h"

namespace engram {
namespace {

constexpr size_t kDepthMax = 8;
constexpr double kCancelSpread = 1.25;  // times what a step took of late: most cancels come before the answer

struct InFlight {
  const Lane* lane;
  PlannedStep planned;
  StepHandle handle;
  absl::Time submitted;
  absl::Time cancel_at;  // infinite: not, or done
};

absl::Status NotAnswered(const StepHandle& handle) {
  return absl::DeadlineExceededError(
      absl::StrCat("step ", handle.step_id(), " was not answered within ", absl::FormatDuration(kStepPatience)));
}

class RandomRun {
 public:
  RandomRun(absl::Span<const Lane> lanes, const RandomRunOptions& options)
      : lanes_(lanes),
        options_(options),
        random_(options.seed),
        depth_max_(options.in_flight.value_or(kDepthMax)),
        bytes_max_(options.bytes_in_flight_max) {
    for (const Lane& lane : lanes) {
      const v1::Welcome& welcome = lane.connection.welcome();
      if (welcome.steps_in_flight_max() != 0) depth_max_ = std::min<size_t>(depth_max_, welcome.steps_in_flight_max());
      if (welcome.bytes_in_flight_max() != 0) bytes_max_ = std::min(bytes_max_, welcome.bytes_in_flight_max());
    }
  }

  absl::Status SubmitNext() {
    const Lane& lane = lanes_[random_() % lanes_.size()];
    PlannedStep planned = lane.traffic.Next();
    const size_t depth = options_.in_flight.has_value() ? depth_max_ : 1 + random_() % depth_max_;
    while (!in_flight_.empty() && (in_flight_.size() >= depth || bytes_ + planned.reply_bytes > bytes_max_)) {
      if (absl::Status status = FinishOldest(); !status.ok()) return status;
    }
    absl::StatusOr<StepHandle> handle = lane.connection.Submit(planned.request, KeepUnique(planned));
    if (!handle.ok()) return handle.status();
    bytes_ += planned.reply_bytes;
    const absl::Time now = absl::Now();
    in_flight_.push_back({&lane, std::move(planned), *std::move(handle), now, now + DrawCancelDelay()});
    CancelDue();
    return absl::OkStatus();
  }

  absl::Status FinishAll() {
    while (!in_flight_.empty()) {
      if (absl::Status status = FinishOldest(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  // Every second step is compared as it came, the others as the client copied them.
  bool KeepUnique(const PlannedStep& planned) { return planned.request.unique_rows() && ++unique_steps_ % 2 == 0; }

  // Any moment of a step's life, or none.
  absl::Duration DrawCancelDelay() {
    const auto share = [this] { return std::generate_canonical<double, 53>(random_); };
    if (options_.cancel <= 0 || share() >= options_.cancel) return absl::InfiniteDuration();
    return kCancelSpread * share() * latency_;
  }

  // Cancels what is due; returns when the next one is.
  absl::Time CancelDue() {
    absl::Time next = absl::InfiniteFuture();
    if (options_.cancel <= 0) return next;
    for (InFlight& step : in_flight_) {
      if (step.cancel_at <= absl::Now()) {
        step.cancel_at = absl::InfiniteFuture();
        step.planned.expected.cancelled = true;
        step.handle.Cancel();
      }
      next = std::min(next, step.cancel_at);
    }
    return next;
  }

  absl::Status FinishOldest() {
    const absl::Time patience = absl::Now() + kStepPatience;
    absl::Time next = CancelDue();
    while (!in_flight_.front().handle.WaitFor(std::min(next, patience) - absl::Now())) {
      if (absl::Now() >= patience) return NotAnswered(in_flight_.front().handle);
      next = CancelDue();
    }
    InFlight oldest = std::move(in_flight_.front());
    in_flight_.pop_front();
    bytes_ -= oldest.planned.reply_bytes;
    latency_ = absl::Now() - oldest.submitted;
    const StepResult result = oldest.handle.Wait();
    oldest.lane->traffic.TakeAnswer(oldest.planned, result);
    return oldest.lane->comparer.Compare(oldest.planned.expected, result);
  }

  const absl::Span<const Lane> lanes_;
  const RandomRunOptions& options_;
  TrafficRandom random_;
  size_t depth_max_;
  uint64_t bytes_max_;
  std::deque<InFlight> in_flight_;
  uint64_t bytes_ = 0;
  uint64_t unique_steps_ = 0;
  absl::Duration latency_;  // of the last step that finished, as this stream saw it
};

}  // namespace

absl::StatusOr<StepResult> WaitPatiently(StepHandle& handle) {
  if (handle.WaitFor(kStepPatience)) return handle.Wait();
  return NotAnswered(handle);
}

absl::Status RunRandom(absl::Span<const Lane> lanes, const RandomRunOptions& options) {
  RandomRun run(lanes, options);
  const auto goes_on = [&options] {
    return absl::Now() < options.end && (options.stop == nullptr || !options.stop->load());
  };
  absl::Status status;
  for (uint64_t i = 0; status.ok() && i < options.steps && goes_on(); ++i) status = run.SubmitNext();
  const absl::Status finished = run.FinishAll();
  return status.ok() ? finished : status;
}

}  // namespace engram
