#include "shard/direct_rows.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t WholePages(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

uint64_t BytesOfForm(const Shard& shard, RowForm form, uint64_t rows) { return rows * shard.RowBytes(form); }

absl::Status Senseless(absl::string_view what, uint64_t value, absl::string_view bound) {
  return absl::InternalError(absl::StrCat("shared question: ", what, " is ", value, ", expected ", bound));
}

}  // namespace

uint64_t DirectRows::BytesFor(uint64_t rows_max, uint64_t reply_bytes) {
  return WholePages(kDirectBlocksMax * sizeof(Block) + rows_max * (sizeof(uint64_t) + sizeof(uint32_t))) + reply_bytes;
}

absl::Span<std::byte> DirectRows::reply_memory() const {
  if (memory_.bytes.empty()) return {};
  return memory_.bytes.subspan(BytesFor(rows_max_, 0));
}

uint64_t DirectRows::Ask(absl::Span<const RowBlock> asked, const RowPlan& plan) {
  const absl::Span<std::byte> replies = reply_memory();
  if (replies.empty() || asked.size() > kDirectBlocksMax) return 0;
  const std::less_equal<const std::byte*> not_after;
  for (size_t i = 0; i < asked.size(); ++i) {
    const RowBlock& block = asked[i];
    const bool here = not_after(replies.data(), block.out) && not_after(block.out, replies.data() + replies.size());
    if (!here && !block.ids.empty()) return 0;
    const uint64_t out = here ? static_cast<uint64_t>(block.out - replies.data()) : 0;
    blocks()[i] = {block.layer_index, static_cast<uint64_t>(block.form), block.ids.size(), out};
  }
  std::copy(plan.entries().begin(), plan.entries().end(), entries());
  std::copy(plan.requests().begin(), plan.requests().end(), requests());
  return asked.size();
}

absl::Status DirectRows::ReadBlocks(const RoundHeader& header, const Shard& shard) {
  const absl::Span<std::byte> replies = reply_memory();
  targets_.clear();
  block_rows_ = 0;
  for (uint64_t i = 0; i < header.direct_blocks; ++i) {
    const Block& block = blocks()[i];
    if (block.layer_index >= shard.geometry().layers()) {
      return Senseless("a layer", block.layer_index, absl::StrCat("less than ", shard.geometry().layers()));
    }
    if (block.form > static_cast<uint64_t>(RowForm::kBf16)) return Senseless("a form", block.form, "0 or 1");
    const auto form = static_cast<RowForm>(block.form);
    if (block.rows > rows_max_ - block_rows_) return Senseless("the rows of a block", block.rows, "fewer");
    if (block.out > replies.size() || BytesOfForm(shard, form, block.rows) > replies.size() - block.out) {
      return Senseless("the end of a reply", block.out, absl::StrCat("within ", replies.size()));
    }
    block_rows_ += block.rows;
    targets_.push_back({block.layer_index, form, block.rows, replies.data() + block.out});
  }
  if (block_rows_ >= header.rows) return absl::OkStatus();
  return Senseless("the rows of all blocks", block_rows_, absl::StrCat("at least ", header.rows));
}

absl::Status DirectRows::CheckRows(const RoundHeader& header, const Shard& shard) const {
  uint64_t next = 0;
  for (uint64_t i = header.rows_begin; i < header.rows_begin + header.rows_of_rank; ++i) {
    const uint64_t entry = entries()[i];
    if (requests()[i] < next || requests()[i] >= block_rows_) {
      return Senseless("a request", requests()[i], absl::StrCat("in [", next, ", ", block_rows_, ")"));
    }
    next = uint64_t{requests()[i]} + 1;
    if (LayerOf(entry) >= shard.geometry().layers() || !shard.table(LayerOf(entry)).Owns(RowOf(entry))) {
      return Senseless("an entry", entry, "a row that is owned here");
    }
  }
  return absl::OkStatus();
}

absl::Status DirectRows::Answer(const RoundHeader& header, Shard& shard) {
  if (header.rows_of_rank == 0) return absl::OkStatus();
  if (reply_memory().empty()) return absl::InternalError("a shared question at a rank that shares nothing");
  ENGRAM_RETURN_IF_ERROR(ReadBlocks(header, shard));
  ENGRAM_RETURN_IF_ERROR(CheckRows(header, shard));
  return gather_.Gather(shard, targets_, {entries() + header.rows_begin, header.rows_of_rank},
                        {requests() + header.rows_begin, header.rows_of_rank});
}

}  // namespace engram
