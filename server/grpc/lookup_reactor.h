// One call of Lookup.

#ifndef ENGRAM_SERVER_GRPC_LOOKUP_REACTOR_H_
#define ENGRAM_SERVER_GRPC_LOOKUP_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

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
  // `request` and `reply` live until the call is done. `deadline`: the call's. `open_calls` goes down by one at its
  // end.
  static grpc::ServerUnaryReactor* Start(const ServiceContext& context, std::atomic<int64_t>& open_calls,
                                         const v1::LookupRequest& request, absl::Time deadline, v1::LookupReply& reply);

  LookupReactor(const ServiceContext& context, std::atomic<int64_t>& open_calls, v1::LookupReply& reply)
      : context_(context), open_calls_(open_calls), reply_(reply) {}

  void Deliver(ReplyFrame frame) override;

 private:
  absl::Status Submit(const v1::LookupRequest& request, absl::Time deadline);
  // Finishes the call unless that was done.
  void FinishOnce(const absl::Status& status);
  absl::Status Outcome(const v1::StepReply& last) const;

  void OnCancel() override;
  void OnDone() override;

  const ServiceContext& context_;
  std::atomic<int64_t>& open_calls_;
  std::shared_ptr<LookupReactor> self_;  // until OnDone
  uint64_t stream_id_ = 0;               // of the scheduler
  std::string client_;                   // session name space
  bool client_private_ = false;

  Mutex mu_;
  v1::LookupReply& reply_;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_LOOKUP_REACTOR_H_
