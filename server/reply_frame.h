// A finished frame on its way to the client: a message head and, beside it, the leased bytes of its rows.

#ifndef ENGRAM_SERVER_REPLY_FRAME_H_
#define ENGRAM_SERVER_REPLY_FRAME_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "engram/v1/engram.pb.h"
#include "server/arena.h"

namespace engram {

struct ReplyFrame {
  v1::StepReply head;     // everything but rows and hash_ids
  ArenaLease payload;     // `rows`, or packed little-endian `hash_ids`; empty for neither
  bool hash_ids = false;  // which of the two
  bool decode = false;    // of a step that goes before larger ones

  uint64_t saved_bytes = 0;  // of rows that were owed too, and that head.row_index stands for

  bool last() const { return head.last(); }
};

// Takes the frames of the steps of one stream.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Frames of a step come in order and exactly one of them is the last. Called by whoever runs the round, or by the
  // thread that sends; must not block and must not call back into the scheduler.
  virtual void Deliver(ReplyFrame frame) = 0;
};

// Code and message, the message cut to kFrameMessageBytesMax at a character's boundary.
void SetOutcome(const absl::Status& status, v1::StepReply& reply);

// The frame covers no tokens any more. Its results and whether it is the last one stay.
void ForgetRows(v1::StepReply& reply);

// The last frame of a step that was refused or given up: no rows, the status as its outcome.
v1::StepReply FailedReply(uint64_t step_id, uint64_t table_version, const absl::Status& status);

// The bytes of a serialised ServerMessage.reply up to where the payload begins: tag and length of the whole, the head's
// fields, tag and length of rows or hash_ids. Followed by the payload's bytes it is an ordinary ServerMessage; with
// `field` LookupReply.frames a LookupReply, to which more may be appended.
std::string EncodeUpToPayload(const ReplyFrame& frame, int field = v1::ServerMessage::kReplyFieldNumber);

// The same frame as one message, its payload copied.
v1::StepReply CopyToMessage(const ReplyFrame& frame);

}  // namespace engram

#endif  // ENGRAM_SERVER_REPLY_FRAME_H_
