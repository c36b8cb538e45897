#include "shard/gpu/gpu_combine.h"

#include <utility>

#include "model/check.h"
#include "shard/gpu/gpu_all_reduce.h"
#include "shard/gpu/gpu_alone.h"
#include "shard/gpu/gpu_owner_gather.h"
#include "shard/row_plan.h"

namespace engram {
namespace {

// Kernels are loaded from the program then.
constexpr absl::Duration kWarmUpTimeout = absl::Minutes(1);

}  // namespace

absl::StatusOr<GpuCombine::Parts> GpuCombine::MakeParts(CombineMode mode, Collective& host, Shard& shard,
                                                        uint64_t rows_max, int device) {
  const RoundSizes sizes = RoundSizesOf(mode, shard.geometry(), rows_max, host.ranks());
  ENGRAM_ASSIGN_OR_RETURN(RoundBuffers buffers, RoundBuffers::Allocate(sizes, device));
  ENGRAM_ASSIGN_OR_RETURN(Stream compute, Stream::Create(device));
  ENGRAM_ASSIGN_OR_RETURN(Event ready, Event::Create(device));
  ENGRAM_ASSIGN_OR_RETURN(CopyOut copy_out, CopyOut::Make(device, buffers));
  ENGRAM_RETURN_IF_ERROR(UploadLayers(shard, buffers, compute));
  return Parts{
      host, shard, rows_max, device, std::move(buffers), std::move(compute), std::move(ready), std::move(copy_out)};
}

absl::StatusOr<std::unique_ptr<Combine>> GpuCombine::Make(CombineMode mode, Collective& host, Shard& shard,
                                                          uint64_t rows_max, int device) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device));
  ENGRAM_ASSIGN_OR_RETURN(Parts parts, MakeParts(mode, host, shard, rows_max, device));
  std::unique_ptr<GpuCombine> combine;
  if (host.ranks() == 1) {
    combine = std::make_unique<GpuAlone>(std::move(parts));
  } else if (mode == CombineMode::kOwnerGather) {
    combine = std::make_unique<GpuOwnerGather>(std::move(parts));
  } else {
    const RowForm moved = mode == CombineMode::kAllReduceBf16 ? RowForm::kBf16 : RowForm::kPacked;
    combine = std::make_unique<GpuAllReduce>(moved, std::move(parts));
  }
  ENGRAM_RETURN_IF_ERROR(combine->WarmUp());
  return combine;
}

GpuCombine::GpuCombine(Parts parts)
    : parts_(std::move(parts)), gather_(parts_.buffers, parts_.shard.geometry(), parts_.rows_max, parts_.compute) {}

absl::Status GpuCombine::Connect(Deadline deadline) {
  if (parts_.host.ranks() == 1) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(comm_, NcclComm::Create(parts_.host, parts_.device, deadline));
  return absl::OkStatus();
}

absl::Status GpuCombine::WarmUp() {
  for (int slot = 0; slot < kSlots; ++slot) {
    for (const EntryGather::Call& call : FixedCalls(slot)) ENGRAM_RETURN_IF_ERROR(gather_.WarmUp(call));
  }
  ENGRAM_RETURN_IF_ERROR(WarmUpKernels());
  return parts_.compute.Await("the first use of the kernels", DeadlineAfter(kWarmUpTimeout));
}

NcclComm& GpuCombine::comm() {
  ENGRAM_CHECK(comm_ != nullptr);
  return *comm_;
}

void GpuCombine::OpenRound(absl::Span<const RowBlock> blocks) {
  round_.slot = NextSlot();
  round_.rows = 0;
  round_.runs.clear();
  round_.staged = false;
  for (const RowBlock& block : blocks) {
    if (block.ids.empty()) continue;
    if (round_.runs.empty() || round_.runs.back().form != block.form) {
      round_.runs.push_back({block.form, round_.rows, 0, nullptr});
    }
    round_.runs.back().rows += block.ids.size();
    round_.rows += block.ids.size();
  }
}

void GpuCombine::PutEntries(absl::Span<const RowBlock> blocks) {
  uint64_t* entry = gather_.HostEntries(round_.slot);
  for (const RowBlock& block : blocks) {
    for (uint64_t row : block.ids) *entry++ = EntryOf(block.layer_index, row);
  }
}

void GpuCombine::LayRuns() {
  std::byte* data = parts_.buffers.rows[static_cast<size_t>(round_.slot)].data();
  for (Run& run : round_.runs) {
    run.data = data;
    data += run.rows * RowBytes(run.form);
  }
}

absl::Status GpuCombine::Upload(const DeviceBuffer& to, const PinnedBuffer& from, uint64_t bytes) {
  ENGRAM_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyHostToDevice, parts_.compute.get()));
  return absl::OkStatus();
}

void GpuCombine::AddPieces(absl::Span<const RowBlock> blocks) {
  size_t run = 0;
  uint64_t row = 0;  // of the round
  for (const RowBlock& block : blocks) {
    if (block.ids.empty()) continue;
    if (row == round_.runs[run].begin + round_.runs[run].rows) ++run;
    const uint64_t row_bytes = RowBytes(block.form);
    const std::byte* from = round_.runs[run].data + (row - round_.runs[run].begin) * row_bytes;
    parts_.copy_out.Add(from, block.out, block.ids.size() * row_bytes);
    row += block.ids.size();
  }
}

absl::Status GpuCombine::StartCopyOut(Deadline deadline) {
  CopyOut& out = parts_.copy_out;
  const bool others = comm_ != nullptr;
  if (round_.rows <= kSmallRows) {
    ENGRAM_RETURN_IF_ERROR(out.StartSmall(parts_.compute, round_.staged));
    return others ? Await(out.done(round_.slot), "the rows of a round", deadline) : absl::OkStatus();
  }
  ENGRAM_RETURN_IF_ERROR(parts_.ready.Record(parts_.compute));
  ENGRAM_ASSIGN_OR_RETURN(const bool pageable, out.HasPageable());
  if (others || pageable) ENGRAM_RETURN_IF_ERROR(Await(parts_.ready, "the rows of a round", deadline));
  return out.StartLarge(parts_.ready);
}

absl::Status GpuCombine::AskRound(absl::Span<const RowBlock> blocks, Deadline deadline) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(parts_.device));
  ENGRAM_RETURN_IF_ERROR(EnqueueAsk(deadline));
  parts_.copy_out.Open(round_.slot);
  AddPieces(blocks);
  ENGRAM_RETURN_IF_ERROR(StartCopyOut(deadline));
  ++asked_;
  return absl::OkStatus();
}

absl::Status GpuCombine::Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& /*rows*/) {
  return Checked(AskRound(blocks, deadline));
}

absl::Status GpuCombine::DeliverRound(Deadline deadline) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(parts_.device));
  const auto slot = static_cast<int>(delivered_ % kSlots);
  // The device's own doing: a rank that is lost meanwhile must not end this wait before the copy has ended.
  ENGRAM_RETURN_IF_ERROR(parts_.copy_out.done(slot).Await("the copy of a round's rows", deadline));
  parts_.copy_out.Finish(slot);
  ++delivered_;
  return absl::OkStatus();
}

absl::Status GpuCombine::Deliver(Deadline deadline) { return Checked(DeliverRound(deadline)); }

absl::Status GpuCombine::AnswerRound(const RoundHeader& header, Deadline deadline, absl::Status& rows) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(parts_.device));
  ENGRAM_RETURN_IF_ERROR(EnqueueAnswer(NextSlot(), header, deadline, rows));
  ENGRAM_RETURN_IF_ERROR(parts_.ready.Record(parts_.compute));
  return Await(parts_.ready, "a rank's part of a round", deadline);
}

absl::Status GpuCombine::Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) {
  return Checked(AnswerRound(header, deadline, rows));
}

absl::Status GpuCombine::Await(const Event& event, std::string_view what, Deadline deadline) {
  return comm_ == nullptr ? event.Await(what, deadline) : comm_->Await(event, what, deadline);
}

absl::Status GpuCombine::Checked(absl::Status status) {
  if (!status.ok() && comm_ != nullptr) comm_->Abort(status);
  return status;
}

}  // namespace engram
