#include "server/grpc/grpc_server.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/request_bound.h"
#include "server/grpc/admin_service.h"
#include "server/grpc/lookup_service.h"

namespace engram {
namespace {

constexpr const char* kServiceName = "engram.v1.EngramLookup";
constexpr absl::Duration kLastCallsGrace = absl::Seconds(10);

// Clients may ping every 10 s, with or without calls; we look for dead ones every minute.
void SetKeepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
}

void SetLimits(grpc::ServerBuilder& builder, const v1::Limits& limits) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(RequestBytesMax(limits.step_tokens_max(), limits.segments_max())));
  // A second server on the same port is a mistake, not a way to share it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A small compressed message may grow without bound before its size is looked at, and rows do not compress.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
}

// Health and reflection are switches of the whole process that act on servers built afterwards.
void PrepareGrpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Held for good: when its last user goes, gRPC joins threads of its own of which one may be polling, for up to 10
    // s. The other ranks would wait as long for this one to leave.
    grpc_init();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const std::string& address,
                                                              const ServiceContext& context) {
  PrepareGrpc();
  auto service = std::make_unique<LookupService>(context);
  auto admin = std::make_unique<AdminService>(context, *service);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service.get());
  builder.RegisterService(admin.get());
  SetKeepalive(builder);
  SetLimits(builder, context.model.limits());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("listen.address = ", address, ": cannot listen there (in use, or no address of this host)"));
  }
  std::unique_ptr<GrpcServer> started(new GrpcServer(std::move(service), std::move(admin), std::move(server), port));
  started->SetServing(false);
  return started;
}

GrpcServer::GrpcServer(std::unique_ptr<LookupService> service, std::unique_ptr<AdminService> admin,
                       std::unique_ptr<grpc::Server> server, int port)
    : service_(std::move(service)), admin_(std::move(admin)), server_(std::move(server)), port_(port) {}

GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

void GrpcServer::SetServing(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus("", serving);
  server_->GetHealthCheckService()->SetServingStatus(kServiceName, serving);
}

bool GrpcServer::Drain(const std::string& why, absl::Duration timeout) {
  SetServing(false);
  return service_->streams().Drain(why, timeout);
}

void GrpcServer::Shutdown(absl::Duration grace) {
  if (service_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
  // Reactions of the last calls may still be on their way to OnDone. One that never gets there keeps the service alive
  // for as long as the process lasts, and does not hold up its end.
  if (!service_->streams().WaitEmpty(kLastCallsGrace)) (void)service_.release();
}

}  // namespace engram
