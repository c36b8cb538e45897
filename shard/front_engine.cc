#include "shard/front_engine.h"

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/rank_report.h"

namespace engram {
namespace {

constexpr absl::Duration kLostWait = absl::Seconds(1);

}  // namespace

FrontEngine::FrontEngine(Collective& collective, LoadedRank loaded, const EngineOptions& options,
                         std::function<void()> on_stopped)
    : collective_(collective),
      loaded_(std::move(loaded)),
      options_(options),
      on_stopped_(std::move(on_stopped)),
      headers_(static_cast<size_t>(collective.ranks())) {}

bool FrontEngine::serves_any_thread() const {
  bool host = collective_.ranks() == 1;
  for (size_t i = 0; i < loaded_.shard->geometry().layers(); ++i) host &= options_.PlacementOf(i) == Placement::kHost;
  return host;
}

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

absl::Status FrontEngine::Gather(absl::Span<const RowBlock> blocks) {
  if (!rows_.empty()) return absl::FailedPreconditionError("Gather while a round is begun and not finished");
  ENGRAM_RETURN_IF_ERROR(Begin(blocks));
  return Finish();
}

absl::Status FrontEngine::Begin(absl::Span<const RowBlock> blocks) {
  ENGRAM_RETURN_IF_ERROR(CheckBlocks(blocks));
  ENGRAM_RETURN_IF_ERROR(over_);
  if (rows_.size() >= static_cast<size_t>(rounds_in_flight_max())) {
    return absl::FailedPreconditionError(absl::StrCat("Begin with ", rows_.size(), " rounds begun and not finished"));
  }
  absl::Status rows;
  ENGRAM_RETURN_IF_ERROR(collective_.ranks() == 1 ? Alone(blocks, rows) : Round(RoundOp::kGather, blocks, rows));
  rows_.push_back(std::move(rows));
  return absl::OkStatus();
}

absl::Status FrontEngine::Finish() {
  if (!over_.ok()) return EndLost();
  if (rows_.empty()) return absl::FailedPreconditionError("Finish without a round that is begun");
  const absl::Status rows = std::move(rows_.front());
  rows_.pop_front();
  const absl::Status delivered = loaded_.combine->Deliver(DeadlineAfter(options_.round_timeout));
  return delivered.ok() ? rows : Lose(delivered);
}

// Its replies are lost, but what still writes to them shall be over when they are lent to others.
absl::Status FrontEngine::EndLost() {
  if (!rows_.empty()) {
    (void)loaded_.combine->Deliver(DeadlineAfter(kLostWait));
    rows_.pop_front();
  }
  return over_;
}

absl::Status FrontEngine::Heartbeat() {
  absl::Status rows;
  ENGRAM_RETURN_IF_ERROR(Round(RoundOp::kHeartbeat, {}, rows));
  return rows;
}

absl::Status FrontEngine::PinReplyMemory(absl::Span<std::byte> memory) {
  return loaded_.gpu == nullptr ? absl::OkStatus() : loaded_.gpu->PinReplyMemory(memory);
}

// No header, no report: there is nobody to tell.
absl::Status FrontEngine::Alone(absl::Span<const RowBlock> blocks, absl::Status& rows) {
  ++sequence_;
  absl::Status mine;
  loaded_.combine->Plan(blocks, {});
  const absl::Status asked = loaded_.combine->Ask(blocks, DeadlineAfter(options_.round_timeout), mine);
  if (!asked.ok()) return Lose(asked);
  if (!mine.ok()) rows = absl::Status(mine.code(), absl::StrCat("rank ", collective_.rank(), ": ", mine.message()));
  return absl::OkStatus();
}

absl::Status FrontEngine::Lose(const absl::Status& between_ranks) {
  over_ = absl::UnavailableError(absl::StrCat("round ", sequence_, ": ", between_ranks.message()));
  return over_;
}

absl::Status FrontEngine::Round(RoundOp op, absl::Span<const RowBlock> blocks, absl::Status& rows) {
  ENGRAM_RETURN_IF_ERROR(over_);
  ++sequence_;
  const absl::Status between_ranks = Exchange(op, blocks, rows);
  return between_ranks.ok() ? between_ranks : Lose(between_ranks);
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
  absl::Status rows;
  ENGRAM_RETURN_IF_ERROR(Round(RoundOp::kStop, {}, rows));
  ENGRAM_RETURN_IF_ERROR(rows);
  over_ = absl::FailedPreconditionError("the engine was stopped");
  if (on_stopped_) on_stopped_();
  return absl::OkStatus();
}

}  // namespace engram
