#include "shard/gpu/gpu_all_reduce.h"

#include "shard/gpu/kernels.h"

namespace engram {
namespace {

constexpr uint64_t kWordBytes = sizeof(uint64_t);

}  // namespace

std::byte* GpuAllReduce::Summed(int slot) const {
  const auto& summed = moved_ == RowForm::kBf16 ? buffers().rows : buffers().sums;
  return summed[static_cast<size_t>(slot)].data();
}

void GpuAllReduce::Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) {
  OpenRound(blocks);
  PutEntries(blocks);
  const auto slot = static_cast<size_t>(round().slot);
  for (Run& run : round().runs) {
    std::byte* base = run.form == moved_ ? Summed(round().slot) : buffers().rows[slot].data();
    run.data = base + run.begin * RowBytes(run.form);
  }
  for (RoundHeader& header : headers) header.rows = round().rows;
}

absl::Status GpuAllReduce::SumOverRanks(int slot, uint64_t bytes, Deadline deadline) {
  if (moved_ == RowForm::kBf16) {
    auto* values = reinterpret_cast<uint16_t*>(Summed(slot));
    return comm().AllReduceSumBf16(values, bytes / sizeof(uint16_t), compute(), deadline);
  }
  // What lies behind the rows in the last word is above them in the number: it carries into none.
  auto* words = reinterpret_cast<uint64_t*>(Summed(slot));
  return comm().AllReduceSum(words, (bytes + kWordBytes - 1) / kWordBytes, compute(), deadline);
}

absl::Status GpuAllReduce::Reduce(int root, int slot, uint64_t rows, Deadline deadline) {
  auto* entries = reinterpret_cast<std::byte*>(gather().HostEntries(slot));
  ENGRAM_RETURN_IF_ERROR(host().Broadcast(root, {entries, rows * sizeof(uint64_t)}, deadline));
  ENGRAM_RETURN_IF_ERROR(gather().GatherFixed({slot, rows, moved_, Summed(slot)}));
  return SumOverRanks(slot, rows * RowBytes(moved_), deadline);
}

std::vector<EntryGather::Call> GpuAllReduce::FixedCalls(int slot) { return {{slot, rows_max(), moved_, Summed(slot)}}; }

absl::Status GpuAllReduce::WarmUpKernels() { return Finish({RowForm::kBf16, 0, 1, buffers().rows[0].data()}, 0); }

absl::Status GpuAllReduce::Finish(const Run& run, int slot) {
  if (moved_ == RowForm::kBf16) {
    CanonicalNanArgs args;
    args.values = reinterpret_cast<uint16_t*>(run.data);
    args.count = run.rows * head_dim();
    return LaunchCanonicalNan(args, compute().get());
  }
  if (run.form == moved_) return absl::OkStatus();
  DequantizeArgs args;
  args.packed = reinterpret_cast<const uint8_t*>(Summed(slot) + run.begin * RowBytes(moved_));
  args.rows = run.rows;
  args.head_dim = head_dim();
  args.out = reinterpret_cast<uint8_t*>(run.data);
  return LaunchDequantize(args, compute().get());
}

absl::Status GpuAllReduce::EnqueueAsk(Deadline deadline) {
  ENGRAM_RETURN_IF_ERROR(Reduce(host().rank(), round().slot, round().rows, deadline));
  for (const Run& run : round().runs) ENGRAM_RETURN_IF_ERROR(Finish(run, round().slot));
  return absl::OkStatus();
}

absl::Status GpuAllReduce::EnqueueAnswer(int slot, const RoundHeader& header, Deadline deadline,
                                         absl::Status& /*rows*/) {
  return Reduce(static_cast<int>(header.asking_rank), slot, header.rows, deadline);
}

}  // namespace engram
