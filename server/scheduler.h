// Turns steps into frames: rounds of what waits, by whoever has the turn.

#ifndef ENGRAM_SERVER_SCHEDULER_H_
#define ENGRAM_SERVER_SCHEDULER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/geometry.h"
#include "model/hash_constants.h"
#include "model/mutex.h"
#include "server/doorbell.h"
#include "server/frame_sender.h"
#include "server/round_runner.h"
#include "server/stage_counters.h"
#include "server/step_gate.h"
#include "server/step_queue.h"
#include "shard/engine.h"

namespace engram {

// Life cycle: construct, OpenStream and Submit from any thread, RunRound again and again on the engine thread, destroy
// when no stream is open. Every step that Submit took to an open stream gets exactly one last frame.
//
// Batch by leader: whatever waits when the engine is free forms the round; there is no timer. Rounds are run in turn.
// The engine thread takes the turn when the doorbell rings. Where it has lent its engine, whoever submits a small step
// while nobody has the turn takes it: the answer is then under way before Submit returns, and no thread had to be
// woken for it.
class Scheduler {
 public:
  // `geometry` must outlive it; `constants` are copied.
  Scheduler(const Geometry& geometry, const HashConstants& constants, SchedulerOptions options);

  // Any thread; see StepQueue.
  uint64_t OpenStream(std::shared_ptr<FrameSink> sink) { return queue_.OpenStream(std::move(sink)); }
  void CloseStream(uint64_t stream_id) { queue_.CloseStream(stream_id); }
  // Not under a lock that the stream's sink takes.
  void Submit(uint64_t stream_id, StepTicket ticket, Step step);
  bool Cancel(uint64_t stream_id, uint64_t step_id) { return queue_.Cancel(stream_id, step_id); }
  // Ends all steps under way with this status; their last frames come with the next RunRound.
  void FailAll(const absl::Status& status);
  // Bytes of reply buffers that the transport has not let go of.
  uint64_t unsent_bytes() const { return queue_.unsent_bytes(); }
  // Of each stream, as in the options.
  uint64_t unsent_bytes_max() const { return options_.unsent_bytes_max; }
  const StageCounters& stages() const { return stages_; }
  RoundCounters counters();
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
  // Engine::Heartbeat, in turn.
  absl::Status Heartbeat(Engine& engine);
  // Waits for something to do, a step's deadline included, for `wait` at most; not at all while a round is in flight.
  void WaitFor(absl::Duration wait, absl::Time now);

  // From now on other threads may run rounds with it, until it is taken back. Only one that serves any thread.
  void Lend(Engine& engine);
  void TakeBack();

 private:
  // Runs a round in the caller's thread, if it may. False when somebody else has to look at what waits.
  bool Lead();

  const SchedulerOptions options_;
  const std::shared_ptr<Doorbell> doorbell_ = std::make_shared<Doorbell>();
  StageCounters stages_;
  StepQueue queue_;
  FrameSender sender_;

  Mutex turn_;
  RoundRunner runner_ ABSL_GUARDED_BY(turn_);
  Engine* lent_ ABSL_GUARDED_BY(turn_) = nullptr;
  std::atomic<bool> is_lent_{false};  // lent_ is not null: asked without the turn
};

}  // namespace engram

#endif  // ENGRAM_SERVER_SCHEDULER_H_
