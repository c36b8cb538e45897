// engram.v1.EngramLookup over gRPC's callback API.

#ifndef ENGRAM_SERVER_GRPC_LOOKUP_SERVICE_H_
#define ENGRAM_SERVER_GRPC_LOOKUP_SERVICE_H_

#include <atomic>
#include <cstdint>

#include "engram/v1/engram.grpc.pb.h"
#include "server/service_context.h"
#include "server/stream_registry.h"

namespace engram {

// All methods are raw: their messages are byte buffers, so that nothing is made of a request before it is looked at,
// and rows leave from the buffers they were gathered into.
using LookupServiceBase = v1::EngramLookup::WithRawCallbackMethod_Stream<v1::EngramLookup::WithRawCallbackMethod_Lookup<
    v1::EngramLookup::WithRawCallbackMethod_GetModel<v1::EngramLookup::Service>>>;

class LookupService final : public LookupServiceBase {
 public:
  explicit LookupService(const ServiceContext& context)
      : context_(context), streams_(context.streams_max, context.hello_timeout) {}

  StreamRegistry& streams() { return streams_; }
  uint64_t open_lookups() const { return static_cast<uint64_t>(lookups_.load()); }

  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* call) override;

 private:
  const ServiceContext context_;
  StreamRegistry streams_;
  std::atomic<int64_t> lookups_{0};  // open calls of Lookup: at most as many as streams
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_LOOKUP_SERVICE_H_
