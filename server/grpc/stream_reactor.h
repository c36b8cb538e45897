// One call of Stream.

#ifndef ENGRAM_SERVER_GRPC_STREAM_REACTOR_H_
#define ENGRAM_SERVER_GRPC_STREAM_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/mutex.h"
#include "server/grpc/service_context.h"
#include "server/grpc/stream_registry.h"
#include "server/reply_frame.h"
#include "server/stream_outbox.h"

namespace engram {

// Life cycle: made and added to the registry, Start, reactions by gRPC, OnDone, which takes it out of the registry; the
// scheduler may hold it a moment longer. One read and one write are outstanding at most. No reaction blocks or hashes:
// steps are admitted and handed to the scheduler, whose engine thread answers through Deliver.
//
// Finish is called exactly once, and not while a write is outstanding: at once when the stream is broken (protocol
// error, cancel, disconnect), else when the client half-closed or the server drains and everything admitted is
// answered.
class StreamReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                            public FrameSink,
                            public std::enable_shared_from_this<StreamReactor> {
 public:
  StreamReactor(const ServiceContext& context, StreamRegistry& registry) : context_(context), registry_(registry) {}

  void Start() { StartRead(&read_buffer_); }
  // Tells the client, once it has said Hello.
  void AnnounceDrain(const std::string& why);
  // Ends the stream as soon as every admitted step is answered: OK where the client had half-closed, else `status`.
  void EndWhenAnswered(const absl::Status& status);

  void Deliver(ReplyFrame frame) override;

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // Each returns the status the stream must end with.
  absl::Status Handle(const v1::ClientMessage& message, absl::Time arrival);
  absl::Status HandleHello(const v1::Hello& hello);
  absl::Status HandleStep(const v1::StepRequest& request, absl::Time arrival);
  absl::Status HandleCancel(const v1::CancelStep& cancel);

  // What admission says of the step; a refusal is the step's own.
  absl::Status AdmitStep(const v1::StepRequest& request, absl::Time arrival);
  StepRoom RoomNow();
  uint64_t SchedulerStream();
  void PushDrain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Break(const absl::Status& status);
  // Writes the next message or finishes, whichever is due.
  void Pump();
  void ReadOn();

  const ServiceContext& context_;
  StreamRegistry& registry_;

  // Only touched by reads, which follow one another, and by OnDone.
  grpc::ByteBuffer read_buffer_;
  std::string client_;  // session name space; empty before Hello
  bool client_private_ = false;
  bool any_step_ = false;
  uint64_t last_step_id_ = 0;

  // Belongs to the write outstanding.
  grpc::ByteBuffer write_buffer_;

  Mutex mu_;
  StreamOutbox outbox_ ABSL_GUARDED_BY(mu_);
  uint64_t stream_id_ ABSL_GUARDED_BY(mu_) = 0;  // of the scheduler; 0 before Hello
  std::string drain_ ABSL_GUARDED_BY(mu_);       // why, once announced
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool read_paused_ ABSL_GUARDED_BY(mu_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;    // finish when answered
  bool broken_ ABSL_GUARDED_BY(mu_) = false;    // finish at once
  bool finished_ ABSL_GUARDED_BY(mu_) = false;  // Finish was called
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_STREAM_REACTOR_H_
