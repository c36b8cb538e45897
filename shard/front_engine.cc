#include "shard/front_engine.h"

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/rank_report.h"

namespace engram {

FrontEngine::FrontEngine(Collective& collective, LoadedRank loaded, const EngineOptions& options,
                         std::function<void()> on_stopped)
    : collective_(collective),
      loaded_(std::move(loaded)),
      options_(options),
      on_stopped_(std::move(on_stopped)),
      headers_(static_cast<size_t>(collective.ranks())) {}

absl::Status FrontEngine::CheckBlock(const RowBlock& block, size_t index) const {
  const Geometry& geometry = loaded_.shard->geometry();
  if (block.layer_index >= geometry.layers()) {
    return absl::InvalidArgumentError(absl::StrCat("blocks[", index, "].layer_index is ", block.layer_index,
                                                   ", the model has ", geometry.layers(), " layers"));
  }
  if (!block.ids.empty() && !Serves(options_.combine, block.form)) {
    return absl::InvalidArgumentError(absl::StrCat("blocks[", index, "].form is packed, which ",
                                                   std::string(NameOf(options_.combine)), " does not serve"));
  }
  if (block.out == nullptr && !block.ids.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("blocks[", index, "].out is null"));
  }
  const uint64_t rows = geometry.rows[block.layer_index];
  for (size_t i = 0; i < block.ids.size(); ++i) {
    if (block.ids[i] < rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("blocks[", index, "].ids[", i, "] is ", block.ids[i], ", the table has ", rows, " rows"));
  }
  return absl::OkStatus();
}

absl::Status FrontEngine::CheckBlocks(absl::Span<const RowBlock> blocks) const {
  uint64_t rows = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    ENGRAM_RETURN_IF_ERROR(CheckBlock(blocks[i], i));
    rows += blocks[i].ids.size();
  }
  if (rows <= options_.round_rows_max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a round of ", rows, " rows, round_rows_max is ", options_.round_rows_max));
}

absl::Status FrontEngine::GatherAlone(absl::Span<const RowBlock> blocks) {
  absl::Status rows;
  for (const RowBlock& block : blocks) {
    rows.Update(loaded_.shard->table(block.layer_index).Gather(block.form, block.ids, {}, block.out));
  }
  return rows.ok() ? rows : absl::Status(rows.code(), absl::StrCat("rank 0: ", rows.message()));
}

absl::Status FrontEngine::Gather(absl::Span<const RowBlock> blocks) {
  ENGRAM_RETURN_IF_ERROR(CheckBlocks(blocks));
  ENGRAM_RETURN_IF_ERROR(over_);
  return collective_.ranks() == 1 ? GatherAlone(blocks) : Round(RoundOp::kGather, blocks);
}

absl::Status FrontEngine::Round(RoundOp op, absl::Span<const RowBlock> blocks) {
  ENGRAM_RETURN_IF_ERROR(over_);
  ++sequence_;
  absl::Status rows;
  const absl::Status between_ranks = Exchange(op, blocks, rows);
  if (between_ranks.ok()) return rows;
  over_ = absl::UnavailableError(absl::StrCat("round ", sequence_, ": ", between_ranks.message()));
  return over_;
}

absl::Status FrontEngine::Exchange(RoundOp op, absl::Span<const RowBlock> blocks, absl::Status& rows) {
  const Deadline deadline = DeadlineAfter(options_.round_timeout);
  const int self = collective_.rank();
  RoundHeader header;
  header.asking_rank = static_cast<uint32_t>(self);
  header.sequence = sequence_;
  header.op = op;
  header.combine = options_.combine;
  headers_.assign(headers_.size(), header);
  if (op == RoundOp::kGather) loaded_.combine->Plan(blocks, absl::MakeSpan(headers_));
  ENGRAM_RETURN_IF_ERROR(collective_.SendHeaders(headers_, deadline));
  absl::Status mine;
  if (op == RoundOp::kGather) ENGRAM_RETURN_IF_ERROR(loaded_.combine->Ask(blocks, deadline, mine));
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<RankReport> reports,
                          GatherRecords(collective_, self, ReportOf(mine), deadline));
  for (size_t rank = 0; rank < reports.size(); ++rank) rows.Update(StatusOf(reports[rank], static_cast<int>(rank)));
  return absl::OkStatus();
}

absl::Status FrontEngine::Stop() {
  ENGRAM_RETURN_IF_ERROR(Round(RoundOp::kStop, {}));
  over_ = absl::FailedPreconditionError("the engine was stopped");
  if (on_stopped_) on_stopped_();
  return absl::OkStatus();
}

}  // namespace engram
