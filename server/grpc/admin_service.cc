#include "server/grpc/admin_service.h"

#include <string>

#include "server/process_memory.h"

namespace engram {

grpc::ServerUnaryReactor* AdminService::GetStatus(grpc::CallbackServerContext* call, const v1::GetStatusRequest*,
                                                  v1::ServerStatus* reply) {
  const absl::Status taking = context_.gate.status();
  reply->set_code(static_cast<int32_t>(taking.code()));
  reply->set_message(std::string(taking.message()));
  reply->set_streams(lookups_.streams().streams());
  reply->set_lookups(lookups_.open_lookups());
  reply->set_steps_in_flight(static_cast<uint64_t>(context_.gate.steps()));
  reply->set_unsent_bytes(context_.scheduler.unsent_bytes());
  reply->set_sessions(context_.sessions.sessions());
  reply->set_history_bytes(context_.sessions.history_bytes());
  const ProcessMemory memory = ReadProcessMemory();
  reply->set_resident_bytes(memory.resident_bytes);
  reply->set_anonymous_bytes(memory.anonymous_bytes);
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace engram
