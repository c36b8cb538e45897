// The Stream call of a Connection: writes requests one after another, hands frames to the steps they belong to.

#ifndef ENGRAM_CLIENT_CLIENT_STREAM_H_
#define ENGRAM_CLIENT_CLIENT_STREAM_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/client_segment.h"
#include "client/pending_step.h"
#include "engram/v1/engram.grpc.pb.h"
#include "model/geometry.h"
#include "model/mutex.h"

namespace engram {

// How far a stream has come.
struct StreamState {
  bool welcomed = false;  // and a segment, where one is wanted, was taken or refused
  bool draining = false;  // takes no further steps; OK to wait for those in flight
  bool ended = false;     // nothing is in flight any more
  absl::Status why;       // not OK once draining or ended
};

// Life cycle: construct, Start once, AwaitWelcome, Submit and Cancel from any thread, Shutdown once, destroy after it.
// gRPC's threads run the On... reactions; those never wait for anything.
class ClientStream : public grpc::ClientBidiReactor<v1::ClientMessage, grpc::ByteBuffer> {
 public:
  // With `shared_memory.bytes` a segment is made and registered when a server that takes some has said Welcome.
  // `changed`, where given, is called after every change of state(), on a thread of gRPC and without any lock; not
  // after Shutdown has returned.
  explicit ClientStream(std::shared_ptr<grpc::Channel> channel, std::function<void()> changed = nullptr,
                        SharedMemoryOptions shared_memory = {});
  ~ClientStream() override = default;

  void Start(const v1::Hello& hello) ABSL_LOCKS_EXCLUDED(mu_);
  // The server's answer to Hello. DEADLINE_EXCEEDED, or what ended the stream, or FAILED_PRECONDITION where shared
  // memory is required and not to be had.
  absl::StatusOr<v1::Welcome> AwaitWelcome(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mu_);
  // Cancels the call and waits for its end; every pending step has finished then.
  void Shutdown();

  // See Connection::Submit. `geometry` is the model's that Welcome gave; `done` as in PendingStep.
  absl::StatusOr<std::shared_ptr<PendingStep>> Submit(v1::StepRequest step, const Geometry& geometry, bool keep_unique,
                                                      std::function<void(StepResult)> done = nullptr)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Cancel(uint64_t step_id) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status status() const { return state().why; }
  StreamState state() const ABSL_LOCKS_EXCLUDED(mu_);
  // OK while rows come through shared memory; else why not.
  absl::Status shared_memory_status() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // What became of the segment.
  enum class Sharing { kNone, kAsked, kShared };
  using Messages = std::deque<v1::ClientMessage>;

  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  absl::Status TakeMessage();
  absl::Status TakeReply(const v1::StepReply& reply, uint64_t rows_offset, uint64_t rows_size);
  void TakeNews(const v1::ServerMessage& message) ABSL_LOCKS_EXCLUDED(mu_);
  void TakeWelcome(const v1::Welcome& welcome) ABSL_LOCKS_EXCLUDED(mu_);
  void TakeSegmentReply(const v1::SegmentReply& reply) ABSL_LOCKS_EXCLUDED(mu_);
  bool Welcomed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return welcome_.has_value() && sharing_ != Sharing::kAsked;
  }
  // For the rows of such a step; null: they come in messages.
  std::shared_ptr<SegmentPlace> PlaceFor(const StepShape& shape) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // No further writes. OnDone comes once the operations under way have ended.
  void Close(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  void Send(v1::ClientMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Usable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<PendingStep> Find(uint64_t step_id) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::shared_ptr<grpc::Channel> channel_;
  const std::function<void()> changed_;
  const SharedMemoryOptions shared_memory_;

  // Own synchronisation, or touched by one reaction at a time.
  grpc::TemplatedGenericStub<v1::ClientMessage, grpc::ByteBuffer> stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;
  absl::Notification done_;

  mutable Mutex mu_;
  CondVar answered_;  // Hello was, or never will be
  Messages outgoing_
      ABSL_GUARDED_BY(mu_);  // the first is being written; bounded by steps_in_flight_max and their cancels
  std::map<uint64_t, std::shared_ptr<PendingStep>> pending_ ABSL_GUARDED_BY(mu_);
  std::optional<v1::Welcome> welcome_ ABSL_GUARDED_BY(mu_);
  Sharing sharing_ ABSL_GUARDED_BY(mu_) = Sharing::kNone;
  std::shared_ptr<ClientSegment> segment_ ABSL_GUARDED_BY(mu_);  // unless kNone
  absl::Status not_shared_ ABSL_GUARDED_BY(mu_);                 // why, where it is kNone
  absl::Status why_closed_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;  // no more writes
  bool ended_ ABSL_GUARDED_BY(mu_) = false;   // why_closed_ is final
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  std::string drain_message_ ABSL_GUARDED_BY(mu_);
  uint64_t last_step_id_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_CLIENT_STREAM_H_
