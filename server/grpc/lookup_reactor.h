// One call of Lookup.

#ifndef ENGRAM_SERVER_GRPC_LOOKUP_REACTOR_H_
#define ENGRAM_SERVER_GRPC_LOOKUP_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/mutex.h"
#include "server/reply_frame.h"
#include "server/service_context.h"

namespace engram {

// The same admission and scheduler as Stream, for one step; its frames are collected into one reply. Keeps itself alive
// until OnDone. A step that fails as a whole is the call's status; segments that fail alone are in the frames.
class LookupReactor final : public grpc::ServerUnaryReactor,
                            public FrameSink,
                            public std::enable_shared_from_this<LookupReactor> {
 public:
  // `reply` lives until the call is done. `deadline`: the call's. `open_calls` goes down by one at its end.
  static grpc::ServerUnaryReactor* Start(const ServiceContext& context, std::atomic<int64_t>& open_calls,
                                         const grpc::ByteBuffer& request, absl::Time deadline, grpc::ByteBuffer& reply);

  LookupReactor(const ServiceContext& context, std::atomic<int64_t>& open_calls, grpc::ByteBuffer& reply)
      : context_(context), open_calls_(open_calls), reply_(reply) {}

  void Deliver(ReplyFrame frame) override;

 private:
  absl::Status Decode(const grpc::ByteBuffer& bytes, v1::LookupRequest& request) const;
  absl::Status Submit(const grpc::ByteBuffer& bytes, absl::Time deadline);
  // Finishes the call unless that was done.
  void FinishOnce(const absl::Status& status);
  absl::Status Outcome(const v1::StepReply& last) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Append(const ReplyFrame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void OnCancel() override;
  void OnDone() override;

  const ServiceContext& context_;
  std::atomic<int64_t>& open_calls_;
  std::shared_ptr<LookupReactor> self_;  // until OnDone
  uint64_t stream_id_ = 0;               // of the scheduler
  std::string client_;                   // session name space
  bool client_private_ = false;

  Mutex mu_;
  grpc::ByteBuffer& reply_;                               // made of `slices_` at the end
  std::vector<grpc::Slice> slices_ ABSL_GUARDED_BY(mu_);  // of a serialised LookupReply
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;                 // theirs
  int results_ ABSL_GUARDED_BY(mu_) = 0;                  // in them
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_LOOKUP_REACTOR_H_
