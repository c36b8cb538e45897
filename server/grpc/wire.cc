#include "server/grpc/wire.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <array>
#include <memory>
#include <utility>

#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace engram {

std::unique_ptr<google::protobuf::io::ZeroCopyInputStream> OpenByteBuffer(grpc::ByteBuffer& buffer) {
  // A reader takes no buffer without slices.
  if (buffer.Length() == 0) return std::make_unique<google::protobuf::io::ArrayInputStream>(nullptr, 0);
  return std::make_unique<grpc::ProtoBufferReader>(&buffer);
}

grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
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
