// What one stream still has to send, in which order, and what it owes its client.

#ifndef ENGRAM_SERVER_STREAM_OUTBOX_H_
#define ENGRAM_SERVER_STREAM_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/arena.h"
#include "server/reply_frame.h"
#include "server/stream_segments.h"

namespace engram {

// Of a message that waits in the transport, which must not use up what flow control leaves.
inline constexpr size_t kWaitingPayloadMax = size_t{16} << 10;

// A message for the wire: `head`, then the bytes of `payload`.
struct OutMessage {
  std::string head;
  ArenaLease payload;
  bool may_wait = false;  // for the next one, to go out with it: that one is sure to come at once
};

// One message is taken at a time: control messages first, then frames of decode steps, then the rest; frames of one
// step stay in order. A step counts as in flight from AddStep until its last frame is taken, since a client that has
// read it may send the next step at once. Not thread-safe.
class StreamOutbox {
 public:
  // An admitted step that owes so many bytes of rows, and takes `answer_bytes` besides. `place`: where its rows go;
  // null: into its frames.
  void AddStep(uint64_t step_id, uint64_t reply_bytes, uint64_t answer_bytes,
               std::shared_ptr<PlacedRows> place = nullptr);
  std::shared_ptr<PlacedRows> PlaceOf(uint64_t step_id) const;
  // A frame of an admitted step.
  void PushFrame(ReplyFrame frame);
  // The answer to a step that was not admitted.
  void PushRefusal(const v1::StepReply& reply);
  // Welcome or Drain, of which a stream has one each.
  void PushControl(const v1::ServerMessage& message);
  // SegmentReply, of which it has as many as the client asks for.
  void PushSegmentReply(const v1::ServerMessage& message);
  // Forgets rows of a step that is being cancelled, those that queue and those that still come; results stay.
  void DropRows(uint64_t step_id);
  void Clear();

  std::optional<OutMessage> Take();

  // Nothing queued, no step in flight.
  bool idle() const { return steps_.empty() && control_.empty() && decode_.empty() && other_.empty(); }
  uint64_t steps_in_flight() const { return steps_.size(); }
  uint64_t bytes_in_flight() const { return bytes_in_flight_; }
  // Memory of all that is no row: results of steps in flight, queued answers to refused steps and about segments.
  // Whoever reads from the client bounds it.
  uint64_t answer_bytes() const { return answer_bytes_; }

 private:
  struct OpenStep {
    uint64_t reply_bytes = 0;  // still owed
    uint64_t answer_bytes = 0;
    std::shared_ptr<PlacedRows> place;
    bool rows_dropped = false;
  };

  struct Control {
    std::string message;
    uint64_t answer_bytes = 0;
  };

  void Account(const ReplyFrame& frame);

  std::deque<Control> control_;
  std::deque<ReplyFrame> decode_;
  std::deque<ReplyFrame> other_;
  std::unordered_map<uint64_t, OpenStep> steps_;  // by step_id
  uint64_t bytes_in_flight_ = 0;
  uint64_t answer_bytes_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STREAM_OUTBOX_H_
