#include "server/grpc/admin_service.h"

#include <string>

#include "server/grpc/wire.h"
#include "server/process_memory.h"

namespace engram {

grpc::ServerUnaryReactor* AdminService::GetStatus(grpc::CallbackServerContext* call, const grpc::ByteBuffer*,
                                                  grpc::ByteBuffer* reply) {
  v1::ServerStatus status;
  const absl::Status taking = context_.gate.status();
  status.set_code(static_cast<int32_t>(taking.code()));
  status.set_message(std::string(taking.message()));
  status.set_streams(lookups_.streams().streams());
  status.set_lookups(lookups_.open_lookups());
  status.set_steps_in_flight(static_cast<uint64_t>(context_.gate.steps()));
  status.set_unsent_bytes(context_.scheduler.unsent_bytes() + lookups_.streams().answer_bytes());
  status.set_sessions(context_.sessions.sessions());
  status.set_history_bytes(context_.sessions.history_bytes());
  const ProcessMemory memory = ReadProcessMemory();
  status.set_resident_bytes(memory.resident_bytes);
  status.set_anonymous_bytes(memory.anonymous_bytes);
  const StageCounters& stages = context_.scheduler.stages();
  status.set_rounds(stages.rounds());
  status.set_hash_ns(stages.hash_ns());
  status.set_gather_ns(stages.gather_ns());
  status.set_deliver_ns(stages.deliver_ns());
  *reply = ToByteBuffer(status);
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace engram
