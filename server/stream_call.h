// One call of Stream, without gRPC: what is read, what is admitted, what is written and when it ends.

#ifndef ENGRAM_SERVER_STREAM_CALL_H_
#define ENGRAM_SERVER_STREAM_CALL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "model/mutex.h"
#include "server/reply_frame.h"
#include "server/service_context.h"
#include "server/step_check.h"
#include "server/stream_outbox.h"
#include "server/stream_segments.h"

namespace engram {

class StreamRegistry;

// The wire under a call. Each is started here and answered by the event of StreamCall named beside it; none waits. May
// be called by any thread.
class StreamTransport {
 public:
  virtual ~StreamTransport() = default;
  virtual void Read() = 0;                              // OnBytes or OnHalfClose; one at a time
  virtual void Write(OutMessage message) = 0;           // OnWritten; one at a time
  virtual void Finish(const absl::Status& status) = 0;  // OnDone; once, after the last Write was answered
};

// Life cycle: made, added to the registry, the first Read started by the transport's owner, then events, OnDone last,
// which takes it out of the registry. The scheduler may hold it a moment longer; the transport is not touched any more.
// One read and one write are outstanding at most; nothing is read while unsent_bytes_max bytes of answers wait, besides
// rows, which the scheduler bounds. No event blocks or hashes: steps are admitted and handed to the
// scheduler, which answers through Deliver.
//
// Events may come from any thread, those of reading (OnBytes, OnHalfClose) one after another, and
// OnDone when all others have returned.
//
// Rows of steps with a place are written into the client's memory by the thread that delivers them. After a step's last
// frame, and after Finish, nothing is written there any more.
//
// Finish is called exactly once, and not while a write is outstanding: at once when the stream is broken (protocol
// error, cancel, disconnect), else when the client half-closed or the server drains and everything admitted is
// answered.
class StreamCall final : public FrameSink, public std::enable_shared_from_this<StreamCall> {
 public:
  // All must outlive the call's last event; `context` and `registry` are not used after it.
  StreamCall(const ServiceContext& context, StreamRegistry& registry, StreamTransport& transport)
      : context_(context), registry_(registry), transport_(transport) {}

  // A message as it came; `open` gives its bytes from the beginning, each time it is called.
  using OpenBytes = absl::FunctionRef<std::unique_ptr<google::protobuf::io::ZeroCopyInputStream>()>;
  void OnBytes(OpenBytes open, absl::Time arrival);
  void OnHalfClose();
  void OnWritten(bool ok);
  void OnCancel();
  void OnDone();

  // Tells the client, once it has said Hello. Any thread.
  void AnnounceDrain(const std::string& why);
  // Ends the stream as soon as every admitted step is answered: OK where the client had half-closed, else `status`.
  void EndWhenAnswered(const absl::Status& status);
  // Ends the stream at once.
  void End(const absl::Status& status) { Break(status); }
  // Bytes that answers without rows take, of steps in flight and of refused ones.
  uint64_t answer_bytes();

  void Deliver(ReplyFrame frame) override;

 private:
  // Each returns the status the stream must end with.
  absl::Status Decode(OpenBytes open, absl::Time arrival);
  absl::Status Handle(const v1::ClientMessage& message, absl::Time arrival);
  absl::Status HandleHello(const v1::Hello& hello);
  absl::Status HandleStep(const v1::StepRequest& request, absl::Time arrival);
  absl::Status HandleCancel(const v1::CancelStep& cancel);
  absl::Status HandleRegister(const v1::RegisterSegment& request);
  absl::Status TakeStepId(uint64_t step_id);

  // What admission says of the step; a refusal is the step's own.
  absl::Status AdmitStep(const v1::StepRequest& request, absl::Time arrival);
  void Refuse(uint64_t step_id, const absl::Status& refused);
  // Without the lock: it takes as long as the rows take to be written.
  void Place(PlacedRows& place, ReplyFrame frame);
  // `segment`: of the step's place; null: it has none, or none of this stream.
  StepRoom RoomNow(const MappedSegment* segment);
  uint64_t SchedulerStream();
  void PushDrain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Break(const absl::Status& status);
  // Writes the next message or finishes, whichever is due.
  void Pump();
  void ReadOn();

  const ServiceContext& context_;
  StreamRegistry& registry_;
  StreamTransport& transport_;

  // Only touched by events of reading, and by OnDone.
  std::string client_;  // session name space; empty before Hello
  bool client_private_ = false;
  bool any_step_ = false;
  uint64_t last_step_id_ = 0;
  StreamSegments segments_;

  Mutex mu_;
  StreamOutbox outbox_ ABSL_GUARDED_BY(mu_);
  uint64_t stream_id_ ABSL_GUARDED_BY(mu_) = 0;  // of the scheduler; 0 before Hello
  std::string drain_ ABSL_GUARDED_BY(mu_);       // why, once announced
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  size_t placing_ ABSL_GUARDED_BY(mu_) = 0;  // frames whose rows are being written into shared memory
  bool read_paused_ ABSL_GUARDED_BY(mu_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;    // finish when answered
  bool broken_ ABSL_GUARDED_BY(mu_) = false;    // finish at once
  bool finished_ ABSL_GUARDED_BY(mu_) = false;  // Finish was called
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STREAM_CALL_H_
