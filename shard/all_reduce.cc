#include "shard/all_reduce.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/files/errors.h"
#include "shard/row_plan.h"

namespace engram {
namespace {

constexpr uint64_t kWordBytes = sizeof(uint64_t);

uint64_t WholeWords(uint64_t bytes) { return (bytes + kWordBytes - 1) / kWordBytes; }

}  // namespace

absl::StatusOr<std::unique_ptr<Combine>> AllReduce::Make(RowForm moved, Collective& collective, Shard& shard,
                                                         const EngineOptions& options) {
  const uint64_t rows_max = options.round_rows_max;
  const uint64_t sum_bytes = WholeWords(rows_max * shard.RowBytes(moved)) * kWordBytes;
  ENGRAM_ASSIGN_OR_RETURN(AnonymousMemory sum, AnonymousMemory::Allocate(sum_bytes, "staging of round_rows_max rows"));
  ENGRAM_ASSIGN_OR_RETURN(AnonymousMemory ids,
                          AnonymousMemory::Allocate(rows_max * kWordBytes, "ids of round_rows_max rows"));
  // To add bf16 values is slow: a row less at every rank is worth more than finding it. Words are added fast.
  const RepeatedRows repeated = options.repeated_rows;
  const bool once = repeated == RepeatedRows::kDefault ? moved == RowForm::kBf16 : repeated == RepeatedRows::kOnce;
  return std::unique_ptr<Combine>(new AllReduce(moved, collective, shard, once, std::move(sum), std::move(ids)));
}

AllReduce::AllReduce(RowForm moved, Collective& collective, Shard& shard, bool once, AnonymousMemory sum,
                     AnonymousMemory ids)
    : moved_(moved),
      collective_(collective),
      shard_(shard),
      sum_(std::move(sum)),
      ids_(std::move(ids)),
      writer_(shard.geometry().head_dim),
      once_(once),
      unique_(shard.geometry().head_dim) {}

uint64_t AllReduce::PutEntries(absl::Span<const RowBlock> blocks) {
  auto* ids = reinterpret_cast<uint64_t*>(ids_.data());
  if (once_) {
    unique_.Find(blocks);
    std::copy(unique_.entries().begin(), unique_.entries().end(), ids);
    return unique_.entries().size();
  }
  uint64_t count = 0;
  for (const RowBlock& block : blocks) {
    for (uint64_t row : block.ids) ids[count++] = EntryOf(block.layer_index, row);
  }
  return count;
}

void AllReduce::Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) {
  count_ = PutEntries(blocks);
  for (RoundHeader& header : headers) header.rows = count_;
}

absl::Status AllReduce::SumOverRanks(uint64_t bytes, Deadline deadline) {
  if (moved_ == RowForm::kBf16) {
    return collective_.AllReduceSumBf16({reinterpret_cast<uint16_t*>(sum_.data()), bytes / sizeof(uint16_t)}, deadline);
  }
  return collective_.AllReduceSum({reinterpret_cast<uint64_t*>(sum_.data()), WholeWords(bytes)}, deadline);
}

absl::Status AllReduce::Reduce(int root, uint64_t count, Deadline deadline, absl::Status& rows) {
  const absl::Span<const uint64_t> entries(reinterpret_cast<const uint64_t*>(ids_.data()), count);
  const uint64_t bytes = count * writer_.bytes(moved_);
  ENGRAM_RETURN_IF_ERROR(collective_.Broadcast(root, {ids_.data(), count * kWordBytes}, deadline));
  std::memset(sum_.data(), 0, WholeWords(bytes) * kWordBytes);
  rows = shard_.GatherOwned(moved_, entries, sum_.data()).status();
  return SumOverRanks(bytes, deadline);
}

void AllReduce::PutBlock(const RowBlock& block, const std::byte* sum) {
  const size_t moved_bytes = writer_.bytes(moved_);
  if (block.ids.empty()) return;
  if (block.form == moved_) {
    std::memcpy(block.out, sum, block.ids.size() * moved_bytes);
    return;
  }
  for (size_t i = 0; i < block.ids.size(); ++i) {
    writer_.WritePacked(block.form, sum + i * moved_bytes, block.out + i * writer_.bytes(block.form));
  }
}

void AllReduce::PutUnique(absl::Span<const RowBlock> blocks) {
  TargetsOf(blocks, targets_);
  ForEachRequest(targets_, unique_.firsts(), [&](size_t target, uint32_t slot, size_t i) {
    const RowForm form = targets_[target].form;
    const std::byte* row = sum_.data() + i * writer_.bytes(moved_);
    std::byte* out = targets_[target].out + slot * writer_.bytes(form);
    if (form == moved_) {
      std::memcpy(out, row, writer_.bytes(form));
    } else {
      writer_.WritePacked(form, row, out);
    }
  });
  unique_.CopyRepeats();
}

absl::Status AllReduce::Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) {
  ENGRAM_RETURN_IF_ERROR(Reduce(collective_.rank(), count_, deadline, rows));
  if (once_) {
    PutUnique(blocks);
    return absl::OkStatus();
  }
  const std::byte* sum = sum_.data();
  for (const RowBlock& block : blocks) {
    PutBlock(block, sum);
    sum += block.ids.size() * writer_.bytes(moved_);
  }
  return absl::OkStatus();
}

absl::Status AllReduce::Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) {
  return Reduce(static_cast<int>(header.asking_rank), header.rows, deadline, rows);
}

}  // namespace engram
