#include "tests/gpu/nccl_collective.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "model/number_formats.h"

namespace engram {
namespace {

template <typename Part>
absl::Status CheckRoom(absl::Span<const Part> parts, uint64_t room) {
  uint64_t bytes = 0;
  for (const Part& part : parts) bytes += part.size();
  if (bytes <= room) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("an operation of ", bytes, " bytes; the staging memory has ", room));
}

// The parts of all ranks but `self`, where they lie on the device.
template <typename Part>
std::vector<DevicePart> PartsOfPeers(absl::Span<const Part> parts, int self, std::byte* device) {
  std::vector<DevicePart> of_peers;
  for (size_t peer = 0; peer < parts.size(); ++peer) {
    if (static_cast<int>(peer) != self) of_peers.push_back({static_cast<int>(peer), device, parts[peer].size()});
    device += parts[peer].size();
  }
  return of_peers;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclCollective>> NcclCollective::Create(Collective& host, int device,
                                                                       Deadline deadline) {
  ENGRAM_ASSIGN_OR_RETURN(DeviceBuffer memory, DeviceBuffer::Allocate(device, kStagingBytes, "staging"));
  ENGRAM_ASSIGN_OR_RETURN(PinnedBuffer pinned, PinnedBuffer::Allocate(device, kStagingBytes, "staging"));
  ENGRAM_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device));
  ENGRAM_ASSIGN_OR_RETURN(Event done, Event::Create(device));
  ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<NcclComm> comm, NcclComm::Create(host, device, deadline));
  return std::unique_ptr<NcclCollective>(new NcclCollective(host, std::move(memory), std::move(pinned),
                                                            std::move(stream), std::move(done), std::move(comm)));
}

absl::Status NcclCollective::Upload(absl::Span<const absl::Span<const std::byte>> parts) {
  ENGRAM_RETURN_IF_ERROR(CheckRoom(parts, kStagingBytes));
  uint64_t bytes = 0;
  for (const absl::Span<const std::byte> part : parts) {
    if (!part.empty()) std::memcpy(pinned_.data() + bytes, part.data(), part.size());
    bytes += part.size();
  }
  if (bytes == 0) return absl::OkStatus();
  ENGRAM_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(device_.data(), pinned_.data(), bytes, cudaMemcpyHostToDevice, stream_.get()));
  return absl::OkStatus();
}

absl::Status NcclCollective::Finish(Deadline deadline) {
  ENGRAM_RETURN_IF_ERROR(done_.Record(stream_));
  return comm_->Await(done_, "a test's operation", deadline);
}

absl::Status NcclCollective::Download(absl::Span<const absl::Span<std::byte>> parts, Deadline deadline) {
  uint64_t bytes = 0;
  for (const absl::Span<std::byte> part : parts) bytes += part.size();
  if (bytes > 0) {
    ENGRAM_RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(pinned_.data(), device_.data(), bytes, cudaMemcpyDeviceToHost, stream_.get()));
  }
  ENGRAM_RETURN_IF_ERROR(Finish(deadline));
  const std::byte* from = pinned_.data();
  for (const absl::Span<std::byte> part : parts) {
    if (!part.empty()) std::memcpy(part.data(), from, part.size());
    from += part.size();
  }
  return absl::OkStatus();
}

absl::Status NcclCollective::Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) {
  if (rank() != root) return Scatter(root, {}, bytes, deadline);
  ENGRAM_RETURN_IF_ERROR(Upload({bytes}));
  std::vector<DevicePart> sends;
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer != root) sends.push_back({peer, device_.data(), bytes.size()});
  }
  ENGRAM_RETURN_IF_ERROR(comm_->Exchange(sends, {}, stream_, deadline));
  return Finish(deadline);
}

absl::Status NcclCollective::Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts,
                                     absl::Span<std::byte> mine, Deadline deadline) {
  if (rank() == root) {
    ENGRAM_RETURN_IF_ERROR(Upload(parts));
    const std::vector<DevicePart> sends = PartsOfPeers(parts, root, device_.data());
    ENGRAM_RETURN_IF_ERROR(comm_->Exchange(sends, {}, stream_, deadline));
    return Finish(deadline);
  }
  ENGRAM_RETURN_IF_ERROR(CheckRoom(absl::MakeConstSpan(&mine, 1), kStagingBytes));
  ENGRAM_RETURN_IF_ERROR(comm_->Exchange({}, {DevicePart{root, device_.data(), mine.size()}}, stream_, deadline));
  return Download({mine}, deadline);
}

absl::Status NcclCollective::Gather(int root, absl::Span<const std::byte> mine,
                                    absl::Span<const absl::Span<std::byte>> parts, Deadline deadline) {
  if (rank() != root) {
    ENGRAM_RETURN_IF_ERROR(Upload({mine}));
    ENGRAM_RETURN_IF_ERROR(comm_->Exchange({DevicePart{root, device_.data(), mine.size()}}, {}, stream_, deadline));
    return Finish(deadline);
  }
  ENGRAM_RETURN_IF_ERROR(CheckRoom(parts, kStagingBytes));
  const std::vector<DevicePart> receives = PartsOfPeers(parts, root, device_.data());
  ENGRAM_RETURN_IF_ERROR(comm_->Exchange({}, receives, stream_, deadline));
  // The root's own part stays as it is: nothing was moved there.
  std::vector<std::byte> own(parts[static_cast<size_t>(root)].size());
  std::vector<absl::Span<std::byte>> heard(parts.begin(), parts.end());
  heard[static_cast<size_t>(root)] = absl::MakeSpan(own);
  return Download(heard, deadline);
}

absl::Status NcclCollective::SumInPlace(absl::Span<std::byte> bytes, absl::FunctionRef<absl::Status()> sum,
                                        Deadline deadline) {
  ENGRAM_RETURN_IF_ERROR(Upload({bytes}));
  ENGRAM_RETURN_IF_ERROR(sum());
  return Download({bytes}, deadline);
}

absl::Status NcclCollective::AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) {
  const auto sum = [&] {
    return comm_->AllReduceSum(reinterpret_cast<uint64_t*>(device_.data()), words.size(), stream_, deadline);
  };
  return SumInPlace({reinterpret_cast<std::byte*>(words.data()), words.size() * sizeof(uint64_t)}, sum, deadline);
}

absl::Status NcclCollective::AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) {
  const auto sum = [&] {
    return comm_->AllReduceSumBf16(reinterpret_cast<uint16_t*>(device_.data()), values.size(), stream_, deadline);
  };
  ENGRAM_RETURN_IF_ERROR(
      SumInPlace({reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(uint16_t)}, sum, deadline));
  if (ranks() == 1) return absl::OkStatus();  // nothing was added
  for (uint16_t& value : values) {
    if (std::isnan(Bf16ToFloat(value))) value = kBf16Nan;
  }
  return absl::OkStatus();
}

}  // namespace engram
