#include "shard/gpu/gpu_alone.h"

namespace engram {

void GpuAlone::Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> /*headers*/) {
  OpenRound(blocks);
  PutEntries(blocks);
  LayRuns();
}

std::vector<EntryGather::Call> GpuAlone::FixedCalls(int slot) {
  const auto at = static_cast<size_t>(slot);
  std::byte* rows = buffers().rows[at].data();
  std::byte* staging = buffers().host_small_rows[at].data();
  return {{slot, rows_max(), RowForm::kPacked, rows, staging}, {slot, rows_max(), RowForm::kBf16, rows, staging}};
}

absl::Status GpuAlone::EnqueueAsk(Deadline /*deadline*/) {
  const int slot = round().slot;
  if (round().runs.size() == 1 && round().rows <= kSmallRows) {
    round().staged = true;
    return gather().GatherFixed({slot, round().rows, round().runs[0].form, round().runs[0].data,
                                 buffers().host_small_rows[static_cast<size_t>(slot)].data()});
  }
  ENGRAM_RETURN_IF_ERROR(gather().Upload(slot, round().rows));
  for (const Run& run : round().runs) {
    ENGRAM_RETURN_IF_ERROR(gather().GatherUploaded(run.begin, run.rows, run.form, run.data));
  }
  return absl::OkStatus();
}

absl::Status GpuAlone::EnqueueAnswer(int /*slot*/, const RoundHeader& /*header*/, Deadline /*deadline*/,
                                     absl::Status& /*rows*/) {
  return absl::InternalError("one rank alone is asked by another");
}

}  // namespace engram
