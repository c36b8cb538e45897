#include "server/grpc/lookup_service.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/grpc/lookup_reactor.h"
#include "server/grpc/status.h"
#include "server/grpc/stream_reactor.h"
#include "server/grpc/wire.h"

namespace engram {
namespace {

using RawStream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// A stream that is refused: finished before it begins.
class RefusedStream final : public RawStream {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() override { delete this; }
};

absl::Time DeadlineOf(const grpc::CallbackServerContext& call) {
  const std::chrono::system_clock::time_point deadline = call.deadline();
  // "None" is as far away as the clock goes; nothing beyond a year is worth watching.
  if (deadline > std::chrono::system_clock::now() + std::chrono::hours(24 * 365)) return absl::InfiniteFuture();
  return absl::FromChrono(deadline);
}

}  // namespace

grpc::ServerUnaryReactor* LookupService::GetModel(grpc::CallbackServerContext* call, const grpc::ByteBuffer*,
                                                  grpc::ByteBuffer* reply) {
  *reply = ToByteBuffer(context_.model);
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* LookupService::Lookup(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* reply) {
  // Replies wait in memory for slow clients, so their number is bounded as that of streams is.
  if (lookups_.fetch_add(1) < context_.streams_max) {
    return LookupReactor::Start(context_, lookups_, *request, DeadlineOf(*call), *reply);
  }
  lookups_.fetch_sub(1);
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(ToGrpcStatus(absl::ResourceExhaustedError(
      absl::StrCat("the server has streams_max = ", context_.streams_max, " calls of Lookup open; repeat it later"))));
  return reactor;
}

RawStream* LookupService::Stream(grpc::CallbackServerContext* call) {
  auto reactor = std::make_unique<StreamReactor>(context_, streams_, call->peer());
  if (absl::Status status = streams_.Add(reactor->call()); !status.ok()) {
    spdlog::debug("stream of {}: refused with {}", call->peer(), status.ToString());
    return new RefusedStream(status);
  }
  reactor->Start();
  return reactor.release();
}

}  // namespace engram
