// The steps under way, by stream, and which of their frames come next.

#ifndef ENGRAM_SERVER_STEP_QUEUE_H_
#define ENGRAM_SERVER_STEP_QUEUE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/geometry.h"
#include "model/mutex.h"
#include "server/arena.h"
#include "server/doorbell.h"
#include "server/frame_plan.h"
#include "server/reply_frame.h"
#include "server/step.h"
#include "server/step_gate.h"
#include "shard/engine.h"

namespace engram {

struct SchedulerOptions {
  FrameLimits frames;
  uint64_t unsent_bytes_max = uint64_t{16} << 20;  // of a stream; past it only its steps wait
  uint32_t decode_tokens_max = 64;                 // a step of at most so many tokens goes before larger ones
  uint64_t table_version = 1;
  uint64_t cached_bytes_max = uint64_t{64} << 20;  // reply buffers kept for reuse
  bool sender_thread = false;                      // frames of larger steps are delivered by a thread of its own
  // Told of every step that failed by itself (a table file changed), by whoever runs the round. Empty: nobody.
  std::function<void(const absl::Status&)> on_step_failure;
};

class StreamQueue;  // step_queue.cc

enum class Lane : uint8_t { kDecode, kPrefill };

struct RoundBounds {
  uint64_t payload_bytes = 0;
  bool decode_only = false;
};

// A step under way. Lives at one address, since its plan reads its step.
struct QueuedStep {
  QueuedStep(Step s, const Geometry& geometry, FrameLimits limits) : step(std::move(s)), plan(step, geometry, limits) {}

  // Constant after Submit.
  Step step;
  StepTicket ticket;
  StreamQueue* stream = nullptr;
  Lane lane = Lane::kPrefill;
  // Of whoever has the scheduler's turn.
  FramePlan plan;
  bool failure_told = false;  // to SchedulerOptions.on_step_failure
  // Guarded by the queue's mutex.
  std::shared_ptr<FrameSink> sink;  // null once the stream is gone
  absl::Status fate;                // not OK: how the step ends, instead of with rows
  size_t frames_in_flight = 0;      // picked and not claimed: until there are none, the step is not taken out
};

// A frame chosen for a round. The step stays valid until its last frame is claimed, or it is taken as ended after all
// of its picked frames were claimed.
struct PickedFrame {
  QueuedStep* step;
  Frame frame;
  ArenaLease payload;
  std::unique_ptr<google::protobuf::RepeatedField<uint32_t>> row_index;  // null: the payload has all rows
};

// What may be delivered of a frame after its round.
struct ClaimedFrame {
  std::shared_ptr<FrameSink> sink;       // null: nothing
  bool rows_dropped = false;             // the step has another fate by now: deliver results alone, and not as the last
  std::unique_ptr<QueuedStep> finished;  // set with the last frame: to be destroyed before it is delivered
};

// Two lanes: steps small enough to be decode, and the rest. Within a lane streams take turns, a whole step a turn in
// the decode lane and one frame a turn in the other; the steps of one stream and lane go in order.
//
// Submit, Cancel, OpenStream and CloseStream may be called by any thread; the others in turn, and only they take steps
// out. A step whose fate is set never finishes with rows. Several rounds may be picked
// and not claimed; frames are claimed in the order in which they were picked.
class StepQueue {
 public:
  // `geometry` must outlive the queue.
  StepQueue(const Geometry& geometry, SchedulerOptions options, std::shared_ptr<Doorbell> doorbell);
  ~StepQueue();

  // Returns the stream's id, unique in this process.
  uint64_t OpenStream(std::shared_ptr<FrameSink> sink);
  // Drops the stream's steps; a frame being delivered at this moment may still arrive. An unknown id is ignored.
  void CloseStream(uint64_t stream_id);

  // `step.step_id` must be new to the stream. Its answer goes to the stream's sink; nothing happens when the stream is
  // gone. Whoever submits sees to it that a round is run.
  void Submit(uint64_t stream_id, StepTicket ticket, Step step);
  // True when the step was unfinished: then its last frame has code CANCELLED or, had it met another fate before, that
  // one.
  bool Cancel(uint64_t stream_id, uint64_t step_id);

  // Frames of the next round: decode first, none of streams with unsent_bytes_max bytes out.
  std::vector<PickedFrame> PickRound(const RoundBounds& bounds);
  // Whether any stream has frames to pick, those with unsent_bytes_max bytes out included. Any thread.
  bool AnythingWaits();
  // Decides whether a picked frame may still be delivered. Once for each.
  ClaimedFrame Claim(const PickedFrame& picked);

  void Fail(QueuedStep& step, const absl::Status& status);
  void FailAll(const absl::Status& status);
  // Takes out the steps whose fate is set, deadlines that passed by `now` included, but for those with picked frames
  // that are not claimed. None of them is picked from any more.
  std::vector<std::unique_ptr<QueuedStep>> TakeEnded(absl::Time now);
  // The earliest deadline of a step under way.
  absl::Time NextDeadline();

  // Reply buffers that the transport has not let go of. Any thread.
  uint64_t unsent_bytes() const { return arena_.leased_bytes(); }
  // See Arena::AddRegion.
  void AddReplyMemory(ReplyMemory memory) { arena_.AddRegion(std::move(memory)); }

 private:
  struct Picks {
    std::vector<PickedFrame> frames;
    uint64_t room_bytes = 0;
  };

  void SetFate(QueuedStep& step, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::unique_ptr<QueuedStep> TakeOut(QueuedStep& step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeaveLane(QueuedStep& step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PickLane(Lane lane, size_t frames_max, Picks& picks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool PickFrom(StreamQueue& stream, Lane lane, Picks& picks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::deque<StreamQueue*>& RingOf(Lane lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return rings_[static_cast<size_t>(lane)];
  }

  const Geometry& geometry_;
  const SchedulerOptions options_;
  const std::shared_ptr<Doorbell> doorbell_;
  Arena arena_;

  Mutex mu_;
  uint64_t next_stream_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::unordered_map<uint64_t, std::unique_ptr<StreamQueue>> streams_ ABSL_GUARDED_BY(mu_);
  std::array<std::deque<StreamQueue*>, 2> rings_ ABSL_GUARDED_BY(mu_);  // streams with frames to pick, in turn
  std::vector<QueuedStep*> ended_ ABSL_GUARDED_BY(mu_);                 // fate set, not yet taken out
  std::set<std::pair<absl::Time, QueuedStep*>> deadlines_ ABSL_GUARDED_BY(mu_);
  int rounds_without_prefill_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STEP_QUEUE_H_
