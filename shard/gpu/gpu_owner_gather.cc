#include "shard/gpu/gpu_owner_gather.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shard/gpu/kernels.h"

namespace engram {

GpuOwnerGather::GpuOwnerGather(Parts parts)
    : GpuCombine(std::move(parts)), plan_(shard().geometry().rows, static_cast<size_t>(host().ranks())) {}

void GpuOwnerGather::Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) {
  OpenRound(blocks);
  LayRuns();
  plan_.Build(blocks);
  const absl::Span<const uint64_t> own = plan_.EntriesOf(static_cast<size_t>(host().rank()));
  std::copy(own.begin(), own.end(), gather().HostEntries(round().slot));
  std::copy(plan_.requests().begin(), plan_.requests().end(),
            reinterpret_cast<uint32_t*>(buffers().host_requests.data()));
  auto* blocks_of_form = reinterpret_cast<PlaceBlock*>(buffers().host_runs.data());
  for (const Run& run : round().runs) {
    *blocks_of_form++ = {run.begin, run.form, reinterpret_cast<uint8_t*>(run.data)};
  }
  for (size_t rank = 0; rank < headers.size(); ++rank) {
    headers[rank].rows = round().rows;
    headers[rank].rows_of_rank = plan_.count(rank);
  }
}

absl::Status GpuOwnerGather::SendIds(Deadline deadline) {
  std::vector<absl::Span<const std::byte>> parts;
  for (int rank = 0; rank < host().ranks(); ++rank) {
    const absl::Span<const uint64_t> entries = plan_.EntriesOf(static_cast<size_t>(rank));
    parts.push_back({reinterpret_cast<const std::byte*>(entries.data()), entries.size() * sizeof(uint64_t)});
  }
  return host().Scatter(host().rank(), parts, {}, deadline);
}

absl::Status GpuOwnerGather::GatherOwn() {
  const auto rank = static_cast<size_t>(host().rank());
  const size_t begin = plan_.begin(rank);
  std::byte* out = buffers().received.data() + begin * RowBytes(RowForm::kPacked);
  const EntryGather::Call call = {round().slot, plan_.count(rank), RowForm::kPacked, out};
  // Rank 0's come first. Others' place changes from round to round, so that no graph can know it.
  return begin == 0 ? gather().GatherFixed(call) : gather().Gather(call);
}

absl::Status GpuOwnerGather::ReceiveRows(Deadline deadline) {
  const size_t row_bytes = RowBytes(RowForm::kPacked);
  std::vector<DevicePart> parts;
  for (int rank = 0; rank < host().ranks(); ++rank) {
    if (rank == host().rank()) continue;
    const auto of = static_cast<size_t>(rank);
    parts.push_back({rank, buffers().received.data() + plan_.begin(of) * row_bytes, plan_.count(of) * row_bytes});
  }
  return comm().Exchange({}, parts, compute(), deadline);
}

std::vector<EntryGather::Call> GpuOwnerGather::FixedCalls(int slot) {
  return {{slot, rows_max(), RowForm::kPacked, buffers().received.data()}};
}

// A row of nothing in each form.
absl::Status GpuOwnerGather::WarmUpKernels() {
  auto* run = reinterpret_cast<PlaceBlock*>(buffers().host_runs.data());
  *reinterpret_cast<uint32_t*>(buffers().host_requests.data()) = 0;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    const RowForm form = slot == 0 ? RowForm::kPacked : RowForm::kBf16;
    ENGRAM_RETURN_IF_ERROR(compute().Await("the first use of the kernels", DeadlineAfter(absl::Minutes(1))));
    *run = {0, form, reinterpret_cast<uint8_t*>(buffers().rows[slot].data())};
    ENGRAM_RETURN_IF_ERROR(PlaceRows(1, 1));
  }
  return absl::OkStatus();
}

absl::Status GpuOwnerGather::PlaceRows(uint64_t rows, size_t runs) {
  const auto* host_runs = reinterpret_cast<const PlaceBlock*>(buffers().host_runs.data());
  ENGRAM_RETURN_IF_ERROR(Upload(buffers().requests, buffers().host_requests, rows * sizeof(uint32_t)));
  ENGRAM_RETURN_IF_ERROR(Upload(buffers().runs, buffers().host_runs, runs * sizeof(PlaceBlock)));
  PlaceArgs args;
  args.packed = reinterpret_cast<const uint8_t*>(buffers().received.data());
  args.rows = rows;
  args.head_dim = head_dim();
  args.requests = reinterpret_cast<const uint32_t*>(buffers().requests.data());
  args.blocks = reinterpret_cast<const PlaceBlock*>(buffers().runs.data());
  args.block_count = static_cast<uint32_t>(runs);
  args.shape = ShapeOf({host_runs, runs});
  return LaunchPlace(args, compute().get());
}

absl::Status GpuOwnerGather::EnqueueAsk(Deadline deadline) {
  ENGRAM_RETURN_IF_ERROR(SendIds(deadline));
  ENGRAM_RETURN_IF_ERROR(GatherOwn());
  ENGRAM_RETURN_IF_ERROR(ReceiveRows(deadline));
  return PlaceRows(round().rows, round().runs.size());
}

uint64_t GpuOwnerGather::CountOwned(absl::Span<const uint64_t> entries) const {
  return static_cast<uint64_t>(std::count_if(entries.begin(), entries.end(), [this](uint64_t entry) {
    return LayerOf(entry) < shard().geometry().layers() && shard().table(LayerOf(entry)).Owns(RowOf(entry));
  }));
}

absl::Status GpuOwnerGather::EnqueueAnswer(int slot, const RoundHeader& header, Deadline deadline, absl::Status& rows) {
  const auto asker = static_cast<int>(header.asking_rank);
  const uint64_t count = header.rows_of_rank;
  uint64_t* entries = gather().HostEntries(slot);
  ENGRAM_RETURN_IF_ERROR(
      host().Scatter(asker, {}, {reinterpret_cast<std::byte*>(entries), count * sizeof(uint64_t)}, deadline));
  if (const uint64_t owned = CountOwned({entries, count}); owned != count) {
    rows = absl::InternalError(absl::StrCat("asked for ", count, " rows of which ", owned, " are owned here"));
  }
  // All bytes go all the same, for the asker waits for them.
  std::byte* out = buffers().received.data();
  ENGRAM_RETURN_IF_ERROR(gather().GatherFixed({slot, count, RowForm::kPacked, out}));
  return comm().Exchange({{asker, out, count * RowBytes(RowForm::kPacked)}}, {}, compute(), deadline);
}

}  // namespace engram
