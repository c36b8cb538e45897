#include "shard/worker.h"

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/rank_report.h"

namespace engram {
namespace {

absl::StatusOr<RoundHeader> AwaitRound(Collective& collective, const EngineOptions& options, uint64_t sequence) {
  const absl::Duration silence_max = options.heartbeat + options.round_timeout;
  const absl::StatusOr<RoundHeader> header = collective.AwaitHeader(DeadlineAfter(silence_max));
  if (!header.ok()) {
    return Annotate(header.status(),
                    absl::StrCat("round ", sequence, " did not begin within heartbeat + round_timeout (",
                                 absl::FormatDuration(silence_max), ")"));
  }
  RoundExpectation expected;
  expected.sequence = sequence;
  expected.combine = options.combine;
  expected.rows_max = options.round_rows_max;
  expected.ranks = static_cast<size_t>(collective.ranks());
  ENGRAM_RETURN_IF_ERROR(ValidateHeader(*header, expected));
  return header;
}

absl::Status AnswerRound(Collective& collective, Combine& combine, const RoundHeader& header, Deadline deadline) {
  absl::Status rows;
  if (header.op == RoundOp::kGather) ENGRAM_RETURN_IF_ERROR(combine.Answer(header, deadline, rows));
  return GatherRecords(collective, static_cast<int>(header.asking_rank), ReportOf(rows), deadline).status();
}

}  // namespace

absl::Status AnswerRounds(Collective& collective, Combine& combine, const EngineOptions& options) {
  for (uint64_t sequence = 1;; ++sequence) {
    ENGRAM_ASSIGN_OR_RETURN(const RoundHeader header, AwaitRound(collective, options, sequence));
    const absl::Status status = AnswerRound(collective, combine, header, DeadlineAfter(options.round_timeout));
    if (!status.ok()) return Annotate(status, absl::StrCat("round ", sequence));
    if (header.op == RoundOp::kStop) return absl::OkStatus();
  }
}

}  // namespace engram
