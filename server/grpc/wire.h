// Messages as gRPC's byte buffers, without copying rows.

#ifndef ENGRAM_SERVER_GRPC_WIRE_H_
#define ENGRAM_SERVER_GRPC_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include "engram/v1/engram.pb.h"
#include "server/stream_outbox.h"

namespace engram {

// Parses straight from the slices as they arrived. False when it is no ClientMessage.
bool ParseClientMessage(grpc::ByteBuffer& buffer, v1::ClientMessage& message);

// Two slices: the head, and the payload's own memory. The lease ends when gRPC lets go of the second.
grpc::ByteBuffer ToByteBuffer(OutMessage message);

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_WIRE_H_
