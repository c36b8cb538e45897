// Stands in for shard/gpu/kernels.cu: the same bodies and the same grids, each thread run to its end on the CPU, in an
// order shuffled by a seed. Kernels that would touch memory their device cannot reach end the device, as on a card.

#include "tests/gpu/double/host_launch.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <vector>

#include "shard/gpu/kernel_dispatch.h"
#include "tests/gpu/double/cuda_double.h"

namespace engram {
namespace {

std::atomic<uint64_t> order_seed = cuda_double::ThreadOrder().seed;
std::atomic<uint64_t> order_threads = cuda_double::ThreadOrder().threads;

template <typename T>
bool Reaches(const T* data, uint64_t count) {
  return cuda_double::CanAccess(cuda_double::OperationDevice(), data, count * sizeof(T));
}

bool Reaches(const DeviceRows& rows, uint32_t head_dim) {
  const uint64_t count = rows.end - rows.begin;
  return Reaches(rows.codes, count * head_dim) && Reaches(rows.scales, count * (head_dim / kScaleBlock));
}

bool Reaches(const GatherArgs& args) {
  return Reaches(args.layers, args.layer_count) && Reaches(args.entries, args.rows) &&
         Reaches(args.out, args.rows * RowBytesOf(args.form, args.head_dim)) &&
         std::all_of(args.layers, args.layers + args.layer_count,
                     [&](const DeviceRows& rows) { return Reaches(rows, args.head_dim); });
}

bool Reaches(const DequantizeArgs& args) {
  return Reaches(args.packed, args.rows * PackedBytes(args.head_dim)) &&
         Reaches(args.out, args.rows * RowBytesOf(RowForm::kBf16, args.head_dim));
}

bool Reaches(const PlaceArgs& args) {
  if (!Reaches(args.packed, args.rows * PackedBytes(args.head_dim)) || !Reaches(args.requests, args.rows) ||
      !Reaches(args.blocks, args.block_count)) {
    return false;
  }
  return std::all_of(args.requests, args.requests + args.rows, [&](uint64_t request) {
    const PlaceBlock& block =
        args.blocks[LastNotAbove(args.blocks, args.block_count, &PlaceBlock::begin_request, request)];
    const uint64_t row_bytes = RowBytesOf(block.form, args.head_dim);
    return Reaches(block.out + (request - block.begin_request) * row_bytes, row_bytes);
  });
}

bool Reaches(const CanonicalNanArgs& args) { return Reaches(args.values, args.count); }

bool Reaches(const HashArgs& args) {
  if (!Reaches(args.segments, args.segment_count) || !Reaches(args.out, args.tokens * args.columns)) return false;
  for (uint32_t i = 0; i < args.segment_count; ++i) {
    const HashSegment& segment = args.segments[i];
    const uint64_t end = i + 1 < args.segment_count ? args.segments[i + 1].row_begin : args.tokens;
    const uint64_t layers = uint64_t{segment.layer_index} + 1;
    if (!Reaches(args.windows + segment.window_begin, segment.lookback + (end - segment.row_begin)) ||
        !Reaches(args.layout, layers * args.columns) ||
        !Reaches(args.multipliers, layers * (args.columns / args.heads + 1))) {
      return false;
    }
  }
  return true;
}

template <typename Body>
void RunThreads(const Body& body, uint64_t grid_threads) {
  const uint64_t chosen = order_threads;
  std::vector<uint64_t> threads(chosen != 0 ? chosen : grid_threads);
  std::iota(threads.begin(), threads.end(), uint64_t{0});
  std::shuffle(threads.begin(), threads.end(), std::mt19937_64(order_seed));
  for (const uint64_t thread : threads) body(thread, threads.size());
}

template <typename Args, typename Body>
absl::Status Launch(const Args& args, const Body& body, cudaStream_t stream) {
  ENGRAM_ASSIGN_OR_RETURN(const uint32_t multiprocessors, CountMultiprocessors());
  const uint64_t threads = uint64_t{BlocksFor(body.units(), multiprocessors)} * kThreadsPerBlock;
  cuda_double::EnqueueOnStream(stream, [args, body, threads] {
    if (!Reaches(args)) return cuda_double::FailOperation(cudaErrorIllegalAddress);
    RunThreads(body, threads);
  });
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return absl::OkStatus();
}

}  // namespace

namespace cuda_double {

void SetThreadOrder(ThreadOrder order) {
  order_seed = order.seed;
  order_threads = order.threads;
}

}  // namespace cuda_double

absl::Status LaunchGather(const GatherArgs& args, cudaStream_t stream) {
  return DispatchGather(args, [&](const auto& body) { return Launch(args, body, stream); });
}

absl::Status LaunchDequantize(const DequantizeArgs& args, cudaStream_t stream) {
  return DispatchDequantize(args, [&](const auto& body) { return Launch(args, body, stream); });
}

absl::Status LaunchPlace(const PlaceArgs& args, cudaStream_t stream) {
  return DispatchPlace(args, [&](const auto& body) { return Launch(args, body, stream); });
}

absl::Status LaunchCanonicalNan(const CanonicalNanArgs& args, cudaStream_t stream) {
  return DispatchCanonicalNan(args, [&](const auto& body) { return Launch(args, body, stream); });
}

absl::Status LaunchHash(const HashArgs& args, cudaStream_t stream) {
  return DispatchHash(args, [&](const auto& body) { return Launch(args, body, stream); });
}

}  // namespace engram
