#include "client/channel.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/step_result.h"
#include "engram/v1/admin.grpc.pb.h"
#include "engram/v1/engram.grpc.pb.h"

namespace engram {
namespace {

constexpr char kHealthMethod[] = "/grpc.health.v1.Health/Check";

std::chrono::system_clock::time_point DeadlineIn(absl::Duration timeout) {
  return absl::ToChronoTime(absl::Now() + timeout);
}

// As gRPC takes it: what is longer than it can say is its longest.
int Milliseconds(absl::Duration duration) {
  return static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, std::numeric_limits<int>::max()));
}

absl::Status StatusOfCall(const std::string& address, const grpc::Status& status) {
  return StatusOfCode(status.error_code(), absl::StrCat(address, ": ", status.error_message()));
}

std::shared_ptr<grpc::Channel> OpenChannelTo(const std::string& address) {
  ConnectionOptions options;
  options.address = address;
  return OpenChannel(options);
}

// One call on a channel of its own.
template <typename Service, typename Reply, typename Method, typename Request>
absl::StatusOr<Reply> Fetch(const std::string& address, absl::Duration timeout, Method method, const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(timeout));
  Reply reply;
  const grpc::Status status = (Service::NewStub(OpenChannelTo(address)).get()->*method)(&context, request, &reply);
  if (!status.ok()) return StatusOfCall(address, status);
  return reply;
}

// HealthCheckResponse { ServingStatus status = 1; }; read by hand because Debian ships no generated code of it.
absl::StatusOr<std::string> ServingStatusOf(grpc::ByteBuffer& answer) {
  grpc::ProtoBufferReader reader(&answer);
  google::protobuf::io::CodedInputStream input(&reader);
  uint32_t value = 0;
  if (answer.Length() > 0 && (input.ReadTag() != (1 << 3) || !input.ReadVarint32(&value))) {
    return absl::InternalError("the health answer is no grpc.health.v1.HealthCheckResponse");
  }
  constexpr const char* kNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  if (value >= std::size(kNames)) return absl::StrCat("status ", value);
  return kNames[value];
}

}  // namespace

grpc::ChannelArguments ArgumentsOf(const ConnectionOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.receive_bytes_max);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (options.keepalive < absl::InfiniteDuration()) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return arguments;
}

std::shared_ptr<grpc::Channel> OpenChannel(const ConnectionOptions& options) {
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), ArgumentsOf(options));
}

v1::Hello HelloOf(const ConnectionOptions& options) {
  v1::Hello hello;
  hello.set_client_id(options.client_id);
  hello.set_model_digest(options.model_digest);
  hello.set_model_name(options.model_name);
  return hello;
}

absl::StatusOr<v1::Model> FetchModel(const std::string& address, absl::Duration timeout) {
  return Fetch<v1::EngramLookup, v1::Model>(address, timeout, &v1::EngramLookup::Stub::GetModel, v1::GetModelRequest());
}

absl::StatusOr<v1::ServerStatus> FetchServerStatus(const std::string& address, absl::Duration timeout) {
  return Fetch<v1::EngramAdmin, v1::ServerStatus>(address, timeout, &v1::EngramAdmin::Stub::GetStatus,
                                                  v1::GetStatusRequest());
}

absl::StatusOr<std::string> FetchHealth(const std::string& address, absl::Duration timeout) {
  grpc::GenericStub stub(OpenChannelTo(address));
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(timeout));
  const grpc::ByteBuffer request(nullptr, 0);  // an empty service name: the server as a whole
  grpc::ByteBuffer answer;
  grpc::Status status;
  absl::Notification done;
  stub.UnaryCall(&context, kHealthMethod, grpc::StubOptions(), &request, &answer, [&](grpc::Status outcome) {
    status = std::move(outcome);
    done.Notify();
  });
  done.WaitForNotification();
  if (!status.ok()) return StatusOfCall(address, status);
  return ServingStatusOf(answer);
}

}  // namespace engram
