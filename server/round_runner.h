// One round after the other: what waits is hashed, gathered straight into reply buffers, and sent.

#ifndef ENGRAM_SERVER_ROUND_RUNNER_H_
#define ENGRAM_SERVER_ROUND_RUNNER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/geometry.h"
#include "model/hash_constants.h"
#include "model/ngram_hash.h"
#include "server/frame_sender.h"
#include "server/round.h"
#include "server/stage_counters.h"
#include "server/step_queue.h"
#include "shard/engine.h"

namespace engram {

// Since the start, for logs.
struct RoundCounters {
  uint64_t gathers = 0;  // rounds over the ranks
  uint64_t frames = 0;   // delivered
  uint64_t steps = 0;    // ended, whatever the code
  uint64_t rows = 0;     // gathered
  uint64_t payload_bytes = 0;
};

// The scheduler's part that works, with one engine. Callers take turns (Scheduler). Where the engine takes two rounds,
// the next one is begun before the one at hand is delivered: its gather and that one's copy-out go on at once.
class RoundRunner {
 public:
  // All but `constants` must outlive it.
  RoundRunner(const Geometry& geometry, const HashConstants& constants, const SchedulerOptions& options,
              StepQueue& queue, StageCounters& stages, FrameSender& sender);

  // See Scheduler::RunRound.
  absl::StatusOr<size_t> Run(Engine& engine, const RoundBounds& bounds, absl::Time now);
  // Finishes and delivers what is in flight, and begins nothing. Errors as Run.
  absl::Status Finish(Engine& engine, absl::Time now);

  bool in_flight() const { return !rounds_.empty(); }
  const RoundCounters& counters() const { return counters_; }

 private:
  void EndSteps(absl::Time now);
  void EndStep(QueuedStep& step);
  // Returns how many frames the round has that was formed and begun.
  size_t BeginRound(Engine& engine, const RoundBounds& bounds);
  // Oldest first, until only `stay` are in flight. How many frames were delivered is added to `frames`. UNAVAILABLE as
  // in Run.
  absl::Status DeliverUntil(size_t stay, Engine& engine, size_t& frames);
  // The round is the oldest one.
  absl::Status FinishAndDeliver(Engine& engine, Round& round);
  void BeginGather(Engine& engine, Round& round);
  void FinishGather(Engine& engine, Round& round);
  absl::Status GatherOneByOne(Engine& engine, const Round& round);
  void Deliver(Round& round);
  void DeliverFrame(PickedFrame& picked);
  // Takes the frame's results out of the step: they are in one frame only, and not twice in memory.
  v1::StepReply HeadOf(Step& step, const Frame& frame) const;

  const Geometry& geometry_;
  const SchedulerOptions& options_;
  const NgramHasher hasher_;
  StepQueue& queue_;
  StageCounters& stages_;
  FrameSender& sender_;
  std::deque<std::unique_ptr<Round>> rounds_;  // formed and not delivered, oldest first
  std::vector<std::unique_ptr<Round>> spare_;
  RoundCounters counters_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_ROUND_RUNNER_H_
