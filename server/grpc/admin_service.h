// engram.v1.EngramAdmin over gRPC's callback API.

#ifndef ENGRAM_SERVER_GRPC_ADMIN_SERVICE_H_
#define ENGRAM_SERVER_GRPC_ADMIN_SERVICE_H_

#include "engram/v1/admin.grpc.pb.h"
#include "server/grpc/lookup_service.h"
#include "server/service_context.h"

namespace engram {

// Reads gauges and nothing else; thread-safe. A request says nothing, and is not decoded.
class AdminService final : public v1::EngramAdmin::WithRawCallbackMethod_GetStatus<v1::EngramAdmin::Service> {
 public:
  // Both arguments must outlive it.
  AdminService(const ServiceContext& context, LookupService& lookups) : context_(context), lookups_(lookups) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;

 private:
  const ServiceContext context_;
  LookupService& lookups_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_ADMIN_SERVICE_H_
