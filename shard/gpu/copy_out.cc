#include "shard/gpu/copy_out.h"

#include <cstring>

namespace engram {
namespace {

absl::Status CopyToHost(std::byte* to, const std::byte* from, uint64_t bytes, const Stream& stream) {
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()));
  return absl::OkStatus();
}

absl::StatusOr<bool> IsPageable(const std::byte* host) {
  cudaPointerAttributes attributes = {};
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaPointerGetAttributes(&attributes, host));
  return attributes.type == cudaMemoryTypeUnregistered;
}

}  // namespace

absl::StatusOr<CopyOut> CopyOut::Make(int device, const RoundBuffers& buffers) {
  CopyOut out;
  ENGRAM_ASSIGN_OR_RETURN(out.stream_, Stream::Create(device));
  for (size_t slot = 0; slot < kSlots; ++slot) {
    out.rounds_[slot].staging = buffers.host_small_rows[slot].data();
    ENGRAM_ASSIGN_OR_RETURN(out.rounds_[slot].done, Event::Create(device));
  }
  return out;
}

void CopyOut::Open(int slot) {
  open_ = static_cast<size_t>(slot);
  open().pieces.clear();
}

void CopyOut::Add(const std::byte* from, std::byte* to, uint64_t bytes) {
  std::vector<Piece>& pieces = open().pieces;
  if (!pieces.empty() && pieces.back().from + pieces.back().bytes == from &&
      pieces.back().to + pieces.back().bytes == to) {
    pieces.back().bytes += bytes;
  } else {
    pieces.push_back({from, to, bytes});
  }
}

absl::Status CopyOut::CopyToStaging(const Stream& compute) {
  const std::vector<Piece>& pieces = open().pieces;
  std::byte* to = open().staging;
  for (size_t begin = 0, end = 0; begin < pieces.size(); begin = end) {
    uint64_t bytes = 0;
    do {
      bytes += pieces[end++].bytes;
    } while (end < pieces.size() && pieces[begin].from + bytes == pieces[end].from);
    ENGRAM_RETURN_IF_ERROR(CopyToHost(to, pieces[begin].from, bytes, compute));
    to += bytes;
  }
  return absl::OkStatus();
}

absl::Status CopyOut::StartSmall(const Stream& compute, bool staged) {
  open().small = true;
  if (!staged) ENGRAM_RETURN_IF_ERROR(CopyToStaging(compute));
  return open().done.Record(compute);
}

absl::StatusOr<bool> CopyOut::HasPageable() const {
  for (const Piece& piece : rounds_[open_].pieces) {
    ENGRAM_ASSIGN_OR_RETURN(const bool pageable, IsPageable(piece.to));
    if (pageable) return true;
  }
  return false;
}

absl::Status CopyOut::StartLarge(const Event& ready) {
  open().small = false;
  ENGRAM_RETURN_IF_ERROR(ready.MakeWait(stream_));
  for (const Piece& piece : open().pieces) {
    ENGRAM_RETURN_IF_ERROR(CopyToHost(piece.to, piece.from, piece.bytes, stream_));
  }
  return open().done.Record(stream_);
}

void CopyOut::Finish(int slot) {
  const Round& round = rounds_[static_cast<size_t>(slot)];
  if (!round.small) return;
  const std::byte* from = round.staging;
  for (const Piece& piece : round.pieces) {
    std::memcpy(piece.to, from, piece.bytes);
    from += piece.bytes;
  }
}

}  // namespace engram
