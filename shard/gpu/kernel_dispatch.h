// From a launch's arguments to the kernel body that serves them: what the GPU launcher and the CPU's have in common.
//
// `launch(body)` runs body(thread, threads) for all threads and returns a Status.

#ifndef ENGRAM_SHARD_GPU_KERNEL_DISPATCH_H_
#define ENGRAM_SHARD_GPU_KERNEL_DISPATCH_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/gpu/hash_body.h"
#include "shard/gpu/kernel_bodies.h"

namespace engram {

inline constexpr uint32_t kThreadsPerBlock = 256;
inline constexpr uint32_t kBlocksPerMultiprocessor = 4;

// A thread a unit while they are few: the last row is done when the first is. From where the GPU is full the grid
// stays as large as that, and its threads go round.
inline uint32_t BlocksFor(uint64_t units, uint32_t multiprocessors) {
  const uint64_t wanted = units / kThreadsPerBlock + (units % kThreadsPerBlock != 0 ? 1 : 0);
  return static_cast<uint32_t>(std::min<uint64_t>(wanted, uint64_t{multiprocessors} * kBlocksPerMultiprocessor));
}

// Of the current device.
inline absl::StatusOr<uint32_t> CountMultiprocessors() {
  int device = 0;
  int count = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<uint32_t>(count);
}

inline absl::Status CheckHeadDim(uint32_t head_dim) {
  if (head_dim != 0 && head_dim % kScaleBlock == 0 && head_dim <= 65536) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("head_dim is ", head_dim, "; it must be a positive multiple of ", kScaleBlock, " up to 65536"));
}

inline absl::Status CheckPointer(const void* pointer, const char* name, uint64_t rows) {
  if (rows == 0 || pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is empty; there are ", rows, " rows"));
}

// Calls with std::integral_constant<int, grain>, the largest of 16, 8, 4, 1 that divides `bits`: addresses and widths
// ored together.
template <typename Call>
auto WithGrain(uint64_t bits, const Call& call) {
  if (bits % 16 == 0) return call(std::integral_constant<int, 16>());
  if (bits % 8 == 0) return call(std::integral_constant<int, 8>());
  if (bits % 4 == 0) return call(std::integral_constant<int, 4>());
  return call(std::integral_constant<int, 1>());
}

inline absl::Status CheckShape(const PlaceShape& shape) {
  if (shape.alignment != 0 && (shape.packed || shape.bf16)) return absl::OkStatus();
  return absl::InvalidArgumentError("shape knows no block: it must be ShapeOf(blocks)");
}

inline uint64_t BitsOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <RowForm kForm, typename Args, typename Launch>
absl::Status DispatchMove(const Args& args, uint64_t bits, const Launch& launch) {
  return WithGrain(bits, [&](auto grain) { return launch(MoveRows<kForm, decltype(grain)::value, Args>(args)); });
}

template <typename Launch>
absl::Status DispatchGather(const GatherArgs& args, const Launch& launch) {
  ENGRAM_RETURN_IF_ERROR(CheckHeadDim(args.head_dim));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.layer_count == 0 ? nullptr : args.layers, "layers", args.rows));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.entries, "entries", args.rows));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.out, "out", args.rows));
  if (args.rows == 0) return absl::OkStatus();
  if (args.form == RowForm::kBf16) return DispatchMove<RowForm::kBf16>(args, BitsOf(args.out), launch);
  return DispatchMove<RowForm::kPacked>(args, BitsOf(args.out) | args.head_dim / kScaleBlock, launch);
}

template <typename Launch>
absl::Status DispatchDequantize(const DequantizeArgs& args, const Launch& launch) {
  ENGRAM_RETURN_IF_ERROR(CheckHeadDim(args.head_dim));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.packed, "packed", args.rows));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.out, "out", args.rows));
  if (args.rows == 0) return absl::OkStatus();
  const uint64_t bits = BitsOf(args.out) | BitsOf(args.packed) | args.head_dim / kScaleBlock;
  return DispatchMove<RowForm::kBf16>(args, bits, launch);
}

template <typename Launch>
absl::Status DispatchPlace(const PlaceArgs& args, const Launch& launch) {
  ENGRAM_RETURN_IF_ERROR(CheckHeadDim(args.head_dim));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.packed, "packed", args.rows));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.requests, "requests", args.rows));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.block_count == 0 ? nullptr : args.blocks, "blocks", args.rows));
  if (args.rows == 0) return absl::OkStatus();
  ENGRAM_RETURN_IF_ERROR(CheckShape(args.shape));
  const uint64_t bits = args.shape.alignment | BitsOf(args.packed) | args.head_dim / kScaleBlock;
  if (args.shape.packed) ENGRAM_RETURN_IF_ERROR(DispatchMove<RowForm::kPacked>(args, bits, launch));
  if (args.shape.bf16) ENGRAM_RETURN_IF_ERROR(DispatchMove<RowForm::kBf16>(args, bits, launch));
  return absl::OkStatus();
}

template <typename Launch>
absl::Status DispatchCanonicalNan(const CanonicalNanArgs& args, const Launch& launch) {
  if (args.count == 0) return absl::OkStatus();
  if (args.values == nullptr || BitsOf(args.values) % kWordBytes != 0) {
    return absl::InvalidArgumentError("values must be at a multiple of 16 bytes");
  }
  if (args.count % CanonicalNanWords::kValuesPerWord != 0) {
    return absl::InvalidArgumentError(absl::StrCat("count is ", args.count, "; it must be a multiple of 8"));
  }
  return launch(CanonicalNanWords(args));
}

template <typename Launch>
absl::Status DispatchHash(const HashArgs& args, const Launch& launch) {
  if (args.heads == 0 || args.columns == 0 || args.columns % args.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns is ", args.columns, "; it must be a positive multiple of heads = ", args.heads));
  }
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.segment_count == 0 ? nullptr : args.segments, "segments", args.tokens));
  ENGRAM_RETURN_IF_ERROR(CheckPointer(args.out, "out", args.tokens));
  return args.tokens == 0 ? absl::OkStatus() : launch(HashIds(args));
}

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_KERNEL_DISPATCH_H_
