// What the soak programs share: how they reach the server and what they ask of it. Straight on gRPC, so that a program
// can misbehave as the client library never would.

#ifndef ENGRAM_TESTS_SOAK_SOAK_CLIENT_H_
#define ENGRAM_TESTS_SOAK_SOAK_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/connection.h"
#include "engram/v1/engram.grpc.pb.h"

namespace engram {

// A connection of its own, shared with no other channel of the process.
std::shared_ptr<grpc::Channel> OpenSoakChannel(const std::string& address);

// Of the calls that describe the server (client/connection.h).
inline constexpr absl::Duration kCallTimeout = absl::Seconds(30);

// Nothing open, under way, kept or unsent.
bool IsAtRest(const v1::ServerStatus& status);

// The status once it is at rest, or the last one after `patience`.
absl::StatusOr<v1::ServerStatus> AwaitRest(const std::string& address, absl::Duration patience);

v1::ClientMessage HelloOf(const std::string& client_id);

// A step of one segment of pseudo-random tokens below `vocab_size`; rows of all layers, packed.
v1::ClientMessage StepOf(uint64_t step_id, uint64_t session_id, uint64_t start_pos, uint32_t tokens,
                         uint32_t vocab_size);

}  // namespace engram

#endif  // ENGRAM_TESTS_SOAK_SOAK_CLIENT_H_
