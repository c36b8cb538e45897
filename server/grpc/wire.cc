#include "server/grpc/wire.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <array>
#include <memory>
#include <utility>

namespace engram {

bool ParseClientMessage(grpc::ByteBuffer& buffer, v1::ClientMessage& message) {
  if (buffer.Length() == 0) return message.ParseFromString("");
  grpc::ProtoBufferReader reader(&buffer);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

grpc::ByteBuffer ToByteBuffer(OutMessage message) {
  std::array<grpc::Slice, 2> slices;
  slices[0] = grpc::Slice(message.head);
  if (message.payload.size() == 0) return grpc::ByteBuffer(slices.data(), 1);
  auto lease = std::make_unique<ArenaLease>(std::move(message.payload));
  std::byte* const data = lease->data();
  const size_t size = lease->size();
  const auto end_lease = [](void* held) { delete static_cast<ArenaLease*>(held); };
  slices[1] = grpc::Slice(data, size, end_lease, lease.release());
  return grpc::ByteBuffer(slices.data(), 2);
}

}  // namespace engram
