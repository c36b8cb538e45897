// The Stream call of a Client: writes requests one after another, hands frames to the steps they belong to.

#ifndef ENGRAM_CLIENT_CLIENT_STREAM_H_
#define ENGRAM_CLIENT_CLIENT_STREAM_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/pending_step.h"
#include "engram/v1/engram.grpc.pb.h"
#include "model/geometry.h"

namespace engram {

// Life cycle: construct, Start once, AwaitWelcome, Submit and Cancel from any thread, Shutdown once, destroy after it.
// gRPC's threads run the On... reactions; those never wait for anything.
class ClientStream : public grpc::ClientBidiReactor<v1::ClientMessage, grpc::ByteBuffer> {
 public:
  explicit ClientStream(std::shared_ptr<grpc::Channel> channel);
  ~ClientStream() override = default;

  void Start(const v1::Hello& hello) ABSL_LOCKS_EXCLUDED(mu_);
  // The server's answer to Hello. DEADLINE_EXCEEDED, or what ended the stream.
  absl::StatusOr<v1::Welcome> AwaitWelcome(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mu_);
  // Cancels the call and waits for its end; every pending step has finished then.
  void Shutdown();

  // See Client::Submit. `geometry` is the model's that Welcome gave.
  absl::StatusOr<std::shared_ptr<PendingStep>> Submit(v1::StepRequest step, const Geometry& geometry)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Cancel(uint64_t step_id) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Messages = std::deque<v1::ClientMessage>;

  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  absl::Status TakeMessage();
  absl::Status TakeReply(const v1::StepReply& reply, uint64_t rows_offset, uint64_t rows_size);
  void TakeWelcome(const v1::Welcome& welcome) ABSL_LOCKS_EXCLUDED(mu_);
  // No further writes. OnDone comes once the operations under way have ended.
  void Close(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  void Send(v1::ClientMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Usable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<PendingStep> Find(uint64_t step_id) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::shared_ptr<grpc::Channel> channel_;

  // Own synchronisation, or touched by one reaction at a time.
  grpc::TemplatedGenericStub<v1::ClientMessage, grpc::ByteBuffer> stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;
  absl::Notification done_;

  mutable absl::Mutex mu_;
  Messages outgoing_
      ABSL_GUARDED_BY(mu_);  // the first is being written; bounded by steps_in_flight_max and their cancels
  std::map<uint64_t, std::shared_ptr<PendingStep>> pending_ ABSL_GUARDED_BY(mu_);
  std::optional<v1::Welcome> welcome_ ABSL_GUARDED_BY(mu_);
  absl::Status why_closed_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;  // no more writes
  bool ended_ ABSL_GUARDED_BY(mu_) = false;   // why_closed_ is final
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  std::string drain_message_ ABSL_GUARDED_BY(mu_);
  uint64_t last_step_id_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_CLIENT_STREAM_H_
