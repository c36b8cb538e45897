// Turns steps into frames: forms rounds of what waits, hashes, gathers straight into reply buffers, delivers.

#ifndef ENGRAM_SERVER_SCHEDULER_H_
#define ENGRAM_SERVER_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/geometry.h"
#include "model/hash_constants.h"
#include "model/ngram_hash.h"
#include "server/doorbell.h"
#include "server/reply_frame.h"
#include "server/round.h"
#include "server/stage_counters.h"
#include "server/step_gate.h"
#include "server/step_queue.h"
#include "shard/engine.h"

namespace engram {

// Since the start, for logs.
struct SchedulerCounters {
  uint64_t rounds = 0;   // with at least one frame
  uint64_t gathers = 0;  // rounds over the ranks
  uint64_t frames = 0;   // delivered
  uint64_t steps = 0;    // ended, whatever the code
  uint64_t rows = 0;     // gathered
  uint64_t payload_bytes = 0;
  absl::Duration hash_time;
  absl::Duration gather_time;
  absl::Duration deliver_time;
};

// Life cycle: construct, OpenStream and Submit from any thread, RunRound again and again on the engine thread, destroy
// when no stream is open. Every step that Submit took to an open stream gets exactly one last frame.
//
// Batch by leader: whatever waits when RunRound is called forms the round; there is no timer. Where the engine takes
// two rounds, the next one is begun before the one at hand is delivered: its gather and that one's copy-out go on at
// once.
class Scheduler {
 public:
  // `geometry` must outlive it; `constants` are copied.
  Scheduler(const Geometry& geometry, const HashConstants& constants, SchedulerOptions options);

  // Any thread; see StepQueue.
  uint64_t OpenStream(std::shared_ptr<FrameSink> sink) { return queue_.OpenStream(std::move(sink)); }
  void CloseStream(uint64_t stream_id) { queue_.CloseStream(stream_id); }
  void Submit(uint64_t stream_id, StepTicket ticket, Step step) {
    queue_.Submit(stream_id, std::move(ticket), std::move(step));
  }
  bool Cancel(uint64_t stream_id, uint64_t step_id) { return queue_.Cancel(stream_id, step_id); }
  // Ends all steps under way with this status; their last frames come with the next RunRound.
  void FailAll(const absl::Status& status);
  // Bytes of reply buffers that the transport has not let go of.
  uint64_t unsent_bytes() const { return queue_.unsent_bytes(); }
  // Of each stream, as in the options.
  uint64_t unsent_bytes_max() const { return options_.unsent_bytes_max; }
  // As of the last call of RunRound that worked on something.
  const StageCounters& stages() const { return stages_; }
  // Wakes WaitFor.
  void Wake() { doorbell_->Ring(); }
  // Replies lie here as long as there is room. Once, before the first step.
  void AddReplyMemory(ReplyMemory memory) { queue_.AddReplyMemory(std::move(memory)); }

  // The rest: engine thread, always with the same engine.

  // One round: ends steps that were cancelled, expired or failed, then answers frames. Returns how many frames of rows,
  // hash ids or results it worked on; 0: nothing to do now, and nothing in flight. A step's own failure (DATA_LOSS) is
  // told to that step alone. UNAVAILABLE when a rank was lost: all steps have been told, nothing is in flight, and no
  // further round can succeed.
  //
  // With an engine that takes two rounds, its round may be in flight afterwards: the next call delivers it, at once
  // where there is nothing to begin.
  absl::StatusOr<size_t> RunRound(Engine& engine, absl::Time now);
  // Finishes and delivers what is in flight, and begins nothing. Errors as RunRound.
  absl::Status FinishRounds(Engine& engine, absl::Time now);
  // Waits for something to do, a step's deadline included, for `wait` at most; not at all while a round is in flight.
  void WaitFor(absl::Duration wait, absl::Time now);

  const SchedulerCounters& counters() const { return counters_; }

 private:
  void EndSteps(absl::Time now);
  void EndStep(QueuedStep& step);
  // Returns how many frames the round has that was formed and begun.
  size_t BeginRound(Engine& engine);
  // Oldest first, until only `stay` are in flight. How many frames were delivered is added to `frames`. UNAVAILABLE as
  // in RunRound.
  absl::Status DeliverUntil(size_t stay, Engine& engine, size_t& frames);
  // The round is the oldest one.
  absl::Status FinishAndDeliver(Engine& engine, Round& round);
  void Begin(Engine& engine, Round& round);
  void Finish(Engine& engine, Round& round);
  absl::Status GatherOneByOne(Engine& engine, const Round& round);
  void Deliver(Round& round);
  // Takes the frame's results out of the step: they are in one frame only, and not twice in memory.
  v1::StepReply HeadOf(Step& step, const Frame& frame) const;

  const Geometry& geometry_;
  const SchedulerOptions options_;
  const NgramHasher hasher_;
  const std::shared_ptr<Doorbell> doorbell_ = std::make_shared<Doorbell>();
  StepQueue queue_;
  StageCounters stages_;

  // The engine thread's.
  std::deque<std::unique_ptr<Round>> rounds_;  // formed and not delivered, oldest first
  std::vector<std::unique_ptr<Round>> spare_;
  SchedulerCounters counters_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_SCHEDULER_H_
