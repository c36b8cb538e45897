// Messages as gRPC's byte buffers, without copying rows.

#ifndef ENGRAM_SERVER_GRPC_WIRE_H_
#define ENGRAM_SERVER_GRPC_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "google/protobuf/io/zero_copy_stream.h"
#include "google/protobuf/message_lite.h"
#include "server/stream_outbox.h"

namespace engram {

// The bytes from the beginning, read from the slices as they arrived. `buffer` must outlive what is returned.
std::unique_ptr<google::protobuf::io::ZeroCopyInputStream> OpenByteBuffer(grpc::ByteBuffer& buffer);

// Two slices: the head, and the payload's own memory. The lease ends when gRPC lets go of the second.
grpc::ByteBuffer ToByteBuffer(OutMessage message);

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message);

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_WIRE_H_
