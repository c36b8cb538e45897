#include "shard/rank_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace engram {

RankReport ReportOf(const absl::Status& status) {
  RankReport report;
  report.code = static_cast<int32_t>(status.code());
  report.length = static_cast<uint32_t>(std::min(status.message().size(), sizeof(report.message)));
  std::copy_n(status.message().data(), report.length, report.message);  // unlike memcpy, takes null for nothing
  return report;
}

absl::Status StatusOf(const RankReport& report) {
  if (report.code == 0) return absl::OkStatus();
  constexpr auto kLastCode = static_cast<int32_t>(absl::StatusCode::kUnauthenticated);
  const bool known = report.code > 0 && report.code <= kLastCode;
  const absl::string_view message(report.message, std::min<size_t>(report.length, sizeof(report.message)));
  return absl::Status(known ? static_cast<absl::StatusCode>(report.code) : absl::StatusCode::kInternal, message);
}

absl::Status StatusOf(const RankReport& report, int rank) {
  const absl::Status status = StatusOf(report);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", status.message()));
}

}  // namespace engram
