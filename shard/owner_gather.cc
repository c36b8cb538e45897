#include "shard/owner_gather.h"

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
absl::StatusOr<std::unique_ptr<Combine>> OwnerGather::Make(Collective& collective, Shard& shard,
                                                           const EngineOptions& options) {
  const uint64_t rows_max = options.round_rows_max;
  ENGRAM_ASSIGN_OR_RETURN(
      AnonymousMemory staging,
      AnonymousMemory::Allocate(rows_max * shard.RowBytes(RowForm::kPacked), "staging of round_rows_max rows"));
  ENGRAM_ASSIGN_OR_RETURN(AnonymousMemory ids,
                          AnonymousMemory::Allocate(rows_max * sizeof(uint64_t), "ids of round_rows_max rows"));
  return std::unique_ptr<Combine>(new OwnerGather(collective, shard, options, std::move(staging), std::move(ids)));
}

OwnerGather::OwnerGather(Collective& collective, Shard& shard, const EngineOptions& options, AnonymousMemory staging,
                         AnonymousMemory ids)
    : collective_(collective),
      shard_(shard),
      staging_(std::move(staging)),
      ids_(std::move(ids)),
      plan_(shard.geometry().rows, static_cast<size_t>(collective.ranks())),
      writer_(shard.geometry().head_dim),
      rows_max_(options.round_rows_max),
      reply_bytes_(options.reply_bytes),
      once_(options.repeated_rows == RepeatedRows::kOnce),
      unique_(shard.geometry().head_dim) {}

absl::Status OwnerGather::Connect(Deadline deadline) {
  SharedMemory memory;
  if (reply_bytes_ > 0) {
    ENGRAM_ASSIGN_OR_RETURN(memory, collective_.ShareMemory(DirectRows::BytesFor(rows_max_, reply_bytes_), deadline));
  }
  memory_owner_ = memory.owner;
  direct_ = std::make_unique<DirectRows>(std::move(memory), rows_max_);
  return absl::OkStatus();
}

ReplyMemory OwnerGather::reply_memory() const { return {direct_->reply_memory(), memory_owner_}; }

void OwnerGather::Plan(absl::Span<const RowBlock> blocks, absl::Span<RoundHeader> headers) {
  if (once_) {
    unique_.Find(blocks);
    plan_.Build(unique_.entries(), unique_.firsts());
  } else {
    plan_.Build(blocks);
  }
  direct_blocks_ = direct_->Ask(blocks, plan_);
  for (size_t rank = 0; rank < headers.size(); ++rank) {
    headers[rank].rows = plan_.entries().size();
    headers[rank].rows_of_rank = plan_.count(rank);
    headers[rank].rows_begin = plan_.begin(rank);
    headers[rank].direct_blocks = IsDirect(static_cast<int>(rank)) ? direct_blocks_ : 0;
  }
  TargetsOf(blocks, targets_);
}

absl::Status OwnerGather::SendIds(Deadline deadline) {
  std::vector<absl::Span<const std::byte>> parts;
  for (int rank = 0; rank < collective_.ranks(); ++rank) {
    const absl::Span<const uint64_t> entries = plan_.EntriesOf(static_cast<size_t>(rank));
    const size_t bytes = IsDirect(rank) ? 0 : entries.size() * sizeof(uint64_t);
    parts.push_back({reinterpret_cast<const std::byte*>(entries.data()), bytes});
  }
  return collective_.Scatter(collective_.rank(), parts, {}, deadline);
}

absl::Status OwnerGather::ReceiveRows(Deadline deadline) {
  const size_t row_bytes = writer_.packed_bytes();
  std::vector<absl::Span<std::byte>> parts;
  for (size_t rank = 0; rank < static_cast<size_t>(collective_.ranks()); ++rank) {
    const size_t rows = IsDirect(static_cast<int>(rank)) ? 0 : plan_.count(rank);
    parts.push_back({staging_.data() + plan_.begin(rank) * row_bytes, rows * row_bytes});
  }
  return collective_.Gather(collective_.rank(), {}, parts, deadline);
}

void OwnerGather::PlaceRows(size_t rank) {
  const std::byte* rows = staging_.data() + plan_.begin(rank) * writer_.packed_bytes();
  ForEachRequest(targets_, plan_.RequestsOf(rank), [&](size_t target, uint32_t slot, size_t i) {
    const RowForm form = targets_[target].form;
    writer_.WritePacked(form, rows + i * writer_.packed_bytes(), targets_[target].out + slot * writer_.bytes(form));
  });
}

absl::Status OwnerGather::Ask(absl::Span<const RowBlock> /*blocks*/, Deadline deadline, absl::Status& rows) {
  ENGRAM_RETURN_IF_ERROR(SendIds(deadline));
  // The front end's own rows need no message: straight from its tables to the blocks, while the others gather theirs.
  const auto self = static_cast<size_t>(collective_.rank());
  rows = own_.Gather(shard_, targets_, plan_.EntriesOf(self), plan_.RequestsOf(self));
  ENGRAM_RETURN_IF_ERROR(ReceiveRows(deadline));
  for (int rank = 0; rank < collective_.ranks(); ++rank) {
    if (rank != collective_.rank() && !IsDirect(rank)) PlaceRows(static_cast<size_t>(rank));
  }
  return absl::OkStatus();
}

// Owners that write to the blocks themselves have all reported by now.
absl::Status OwnerGather::Deliver(Deadline /*deadline*/) {
  if (once_) unique_.CopyRepeats();
  return absl::OkStatus();
}

absl::Status OwnerGather::Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) {
  if (header.direct_blocks == 0) return AnswerByMessage(header, deadline, rows);
  rows = direct_->Answer(header, shard_);
  return absl::OkStatus();
}

absl::Status OwnerGather::AnswerByMessage(const RoundHeader& header, Deadline deadline, absl::Status& rows) {
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
