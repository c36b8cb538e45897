#include "soak_client.h"

#include "absl/time/clock.h"

namespace engram {

std::shared_ptr<grpc::Channel> OpenSoakChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

bool IsAtRest(const v1::ServerStatus& status) {
  return status.streams() == 0 && status.lookups() == 0 && status.steps_in_flight() == 0 &&
         status.unsent_bytes() == 0 && status.sessions() == 0 && status.history_bytes() == 0;
}

absl::StatusOr<v1::ServerStatus> AwaitRest(const std::string& address, absl::Duration patience) {
  const absl::Time end = absl::Now() + patience;
  absl::StatusOr<v1::ServerStatus> status = FetchServerStatus(address, kCallTimeout);
  while (status.ok() && !IsAtRest(*status) && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(20));
    status = FetchServerStatus(address, kCallTimeout);
  }
  return status;
}

v1::ClientMessage HelloOf(const std::string& client_id) {
  v1::ClientMessage message;
  message.mutable_hello()->set_client_id(client_id);
  return message;
}

v1::ClientMessage StepOf(uint64_t step_id, uint64_t session_id, uint64_t start_pos, uint32_t tokens,
                         uint32_t vocab_size) {
  v1::ClientMessage message;
  message.mutable_step()->set_step_id(step_id);
  v1::Segment& segment = *message.mutable_step()->add_segments();
  segment.set_session_id(session_id);
  segment.set_start_pos(start_pos);
  uint64_t mixed = step_id * 0x9E3779B97F4A7C15u + session_id;
  for (uint32_t i = 0; i < tokens; ++i) {
    mixed = mixed * 6364136223846793005u + 1442695040888963407u;
    segment.add_token_ids(static_cast<uint32_t>((mixed >> 33) % vocab_size));
  }
  return message;
}

}  // namespace engram
