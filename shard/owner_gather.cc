#include "shard/owner_gather.h"

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
namespace {

// Calls visit(block, slot, i) for each of `requests` (numbers over all blocks, ascending): the i-th is row `slot` of
// `block`.
template <typename Visit>
void ForEachRequest(absl::Span<const RowBlock> blocks, absl::Span<const uint32_t> requests, const Visit& visit) {
  size_t block = 0;
  size_t block_begin = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    while (requests[i] - block_begin >= blocks[block].ids.size()) block_begin += blocks[block++].ids.size();
    visit(block, static_cast<uint32_t>(requests[i] - block_begin), i);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Combine>> OwnerGather::Make(Collective& collective, Shard& shard, uint64_t rows_max) {
  ENGRAM_ASSIGN_OR_RETURN(
      AnonymousMemory staging,
      AnonymousMemory::Allocate(rows_max * shard.RowBytes(RowForm::kPacked), "staging of round_rows_max rows"));
  ENGRAM_ASSIGN_OR_RETURN(AnonymousMemory ids,
                          AnonymousMemory::Allocate(rows_max * sizeof(uint64_t), "ids of round_rows_max rows"));
  return std::unique_ptr<Combine>(new OwnerGather(collective, shard, std::move(staging), std::move(ids)));
}

OwnerGather::OwnerGather(Collective& collective, Shard& shard, AnonymousMemory staging, AnonymousMemory ids)
    : collective_(collective),
      shard_(shard),
      staging_(std::move(staging)),
      ids_(std::move(ids)),
      plan_(shard.geometry().rows, static_cast<size_t>(collective.ranks())),
      writer_(shard.geometry().head_dim) {}

void OwnerGather::Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) {
  plan_.Build(blocks);
  for (size_t rank = 0; rank < headers.size(); ++rank) {
    headers[rank].rows = plan_.entries().size();
    headers[rank].rows_of_rank = plan_.count(rank);
  }
}

absl::Status OwnerGather::SendIds(Deadline deadline) {
  std::vector<absl::Span<const std::byte>> parts;
  for (int rank = 0; rank < collective_.ranks(); ++rank) {
    const absl::Span<const uint64_t> entries = plan_.EntriesOf(static_cast<size_t>(rank));
    parts.push_back({reinterpret_cast<const std::byte*>(entries.data()), entries.size() * sizeof(uint64_t)});
  }
  return collective_.Scatter(collective_.rank(), parts, {}, deadline);
}

absl::Status OwnerGather::ReceiveRows(Deadline deadline) {
  const size_t row_bytes = writer_.packed_bytes();
  std::vector<absl::Span<std::byte>> parts;
  for (size_t rank = 0; rank < static_cast<size_t>(collective_.ranks()); ++rank) {
    parts.push_back({staging_.data() + plan_.begin(rank) * row_bytes, plan_.count(rank) * row_bytes});
  }
  return collective_.Gather(collective_.rank(), {}, parts, deadline);
}

absl::Status OwnerGather::GatherOwn(absl::Span<const RowBlock> blocks) {
  const auto rank = static_cast<size_t>(collective_.rank());
  const absl::Span<const uint64_t> entries = plan_.EntriesOf(rank);
  absl::Status status;
  size_t open_block = 0;
  const auto flush = [&] {
    const RowBlock& block = blocks[open_block];
    if (own_rows_.empty()) return;
    status.Update(shard_.table(block.layer_index).Gather(block.form, own_rows_, own_slots_, block.out));
    own_rows_.clear();
    own_slots_.clear();
  };
  ForEachRequest(blocks, plan_.RequestsOf(rank), [&](size_t block, uint32_t slot, size_t i) {
    if (block != open_block) flush();
    open_block = block;
    own_rows_.push_back(RowOf(entries[i]));
    own_slots_.push_back(slot);
  });
  if (!entries.empty()) flush();
  return status;
}

void OwnerGather::PlaceRows(absl::Span<const RowBlock> blocks, size_t rank) {
  const std::byte* rows = staging_.data() + plan_.begin(rank) * writer_.packed_bytes();
  ForEachRequest(blocks, plan_.RequestsOf(rank), [&](size_t block, uint32_t slot, size_t i) {
    const RowForm form = blocks[block].form;
    writer_.WritePacked(form, rows + i * writer_.packed_bytes(), blocks[block].out + slot * writer_.bytes(form));
  });
}

absl::Status OwnerGather::Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) {
  ENGRAM_RETURN_IF_ERROR(SendIds(deadline));
  rows = GatherOwn(blocks);  // while the others gather theirs
  ENGRAM_RETURN_IF_ERROR(ReceiveRows(deadline));
  for (int rank = 0; rank < collective_.ranks(); ++rank) {
    if (rank != collective_.rank()) PlaceRows(blocks, static_cast<size_t>(rank));
  }
  return absl::OkStatus();
}

absl::Status OwnerGather::Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) {
  const auto asker = static_cast<int>(header.asking_rank);
  const size_t count = header.rows_of_rank;
  ENGRAM_RETURN_IF_ERROR(collective_.Scatter(asker, {}, {ids_.data(), count * sizeof(uint64_t)}, deadline));
  const absl::Span<const uint64_t> entries(reinterpret_cast<const uint64_t*>(ids_.data()), count);
  const absl::StatusOr<size_t> owned = shard_.GatherOwned(RowForm::kPacked, entries, staging_.data());
  rows = owned.status();
  if (owned.ok() && *owned != count) {
    rows = absl::InternalError(absl::StrCat("asked for ", count, " rows of which ", *owned, " are owned here"));
  }
  return collective_.Gather(asker, {staging_.data(), count * writer_.packed_bytes()}, {}, deadline);
}

}  // namespace engram
