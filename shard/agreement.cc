#include "shard/agreement.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/digest.h"
#include "model/files/errors.h"
#include "shard/rank_report.h"

namespace engram {
namespace {

constexpr size_t kDigestBytes = 32;
constexpr size_t kNumbers = 6;

// What must be equal at all ranks, and the row ranges, which follow from the rank.
struct RankSummary {
  RankReport load;
  uint64_t numbers[kNumbers];  // kNumberNames
  char constants_digest[kDigestBytes];
  char model_digest[kDigestBytes];
  char geometry_digest[kDigestBytes];
  char ranges_digest[kDigestBytes];
  char placements_digest[kDigestBytes];
  char gpu[kDigestBytes];  // zeros without one
};

constexpr std::string_view kNumberNames[kNumbers] = {
    "sharding.combine",          "sharding.placement",    "rows of scheduling.round_bytes_max",
    "sharding.round_timeout_ms", "sharding.heartbeat_ms", "number of ranks"};

void CopyDigest(const std::string& digest, char (&out)[kDigestBytes]) {
  std::memset(out, 0, kDigestBytes);
  std::memcpy(out, digest.data(), std::min(digest.size(), kDigestBytes));
}

std::string GeometryDigest(const Geometry& geometry) {
  Digest digest;
  digest.AddNumber(geometry.layers());
  for (uint32_t layer_id : geometry.layer_ids) digest.AddNumber(layer_id);
  for (uint64_t rows : geometry.rows) digest.AddNumber(rows);
  for (uint32_t number : {geometry.max_ngram_size, geometry.heads, geometry.head_dim, geometry.vocab_size,
                          geometry.compressed_vocab_size}) {
    digest.AddNumber(number);
  }
  return digest.Finish();
}

std::string RangesDigest(const Geometry& geometry, int rank, int ranks) {
  Digest digest;
  for (uint64_t rows : geometry.rows) {
    const ShardRange range = ShardOf(rows, static_cast<size_t>(rank), static_cast<size_t>(ranks));
    digest.AddNumber(range.begin);
    digest.AddNumber(range.end);
  }
  return digest.Finish();
}

std::string PlacementsDigest(const EngineOptions& options, const Geometry& geometry) {
  Digest digest;
  // A rank that gives none or not enough has been told so; here it only differs.
  const size_t layers = options.layer_placements.empty() ? geometry.layers() : options.layer_placements.size();
  for (size_t layer = 0; layer < layers; ++layer) digest.AddNumber(static_cast<uint64_t>(options.PlacementOf(layer)));
  return digest.Finish();
}

RankSummary Summarize(const Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                      const std::string& gpu, const absl::Status& mine) {
  RankSummary summary = {};
  summary.load = ReportOf(mine);
  const uint64_t numbers[kNumbers] = {static_cast<uint64_t>(options.combine),
                                      static_cast<uint64_t>(options.placement),
                                      options.round_rows_max,
                                      static_cast<uint64_t>(absl::ToInt64Milliseconds(options.round_timeout)),
                                      static_cast<uint64_t>(absl::ToInt64Milliseconds(options.heartbeat)),
                                      static_cast<uint64_t>(collective.ranks())};
  std::copy(numbers, numbers + kNumbers, summary.numbers);
  CopyDigest(checkpoint.constants_digest, summary.constants_digest);
  CopyDigest(checkpoint.model_digest, summary.model_digest);
  CopyDigest(GeometryDigest(checkpoint.geometry), summary.geometry_digest);
  CopyDigest(RangesDigest(checkpoint.geometry, collective.rank(), collective.ranks()), summary.ranges_digest);
  CopyDigest(PlacementsDigest(options, checkpoint.geometry), summary.placements_digest);
  CopyDigest(gpu, summary.gpu);
  return summary;
}

constexpr size_t kPlacement = 1;

// Modes by their names.
std::string ValueName(size_t number, uint64_t value) {
  if (number == 0 && value <= 2) return std::string(NameOf(static_cast<CombineMode>(value)));
  if (number == kPlacement && value <= 3) return std::string(NameOf(static_cast<Placement>(value)));
  return absl::StrCat(value);
}

absl::Status Differs(size_t rank, std::string_view what, const std::string& theirs, const std::string& ours) {
  return absl::FailedPreconditionError(
      absl::StrCat("rank ", rank, " differs: its ", std::string(what), " is ", theirs, ", that of rank 0 is ", ours));
}

absl::Status CompareDigests(size_t rank, std::string_view what, const char (&theirs)[kDigestBytes],
                            const char (&ours)[kDigestBytes]) {
  if (std::memcmp(theirs, ours, kDigestBytes) == 0) return absl::OkStatus();
  return Differs(rank, what, HexOf({theirs, kDigestBytes}), HexOf({ours, kDigestBytes}));
}

absl::Status Compare(size_t rank, const RankSummary& theirs, const RankSummary& ours, const Geometry& geometry,
                     int ranks) {
  // The checkpoint first: round_rows_max follows from it.
  ENGRAM_RETURN_IF_ERROR(CompareDigests(rank, "geometry digest", theirs.geometry_digest, ours.geometry_digest));
  ENGRAM_RETURN_IF_ERROR(CompareDigests(rank, "constants digest", theirs.constants_digest, ours.constants_digest));
  ENGRAM_RETURN_IF_ERROR(CompareDigests(rank, "model digest", theirs.model_digest, ours.model_digest));
  for (size_t i = 0; i < kNumbers; ++i) {
    if (theirs.numbers[i] == ours.numbers[i]) continue;
    const absl::Status differs =
        Differs(rank, kNumberNames[i], ValueName(i, theirs.numbers[i]), ValueName(i, ours.numbers[i]));
    const bool mixed = i == kPlacement && IsOnGpu(static_cast<Placement>(theirs.numbers[i])) !=
                                              IsOnGpu(static_cast<Placement>(ours.numbers[i]));
    return mixed ? Annotate(differs, "GPU ranks and CPU ranks cannot be in one job") : differs;
  }
  ENGRAM_RETURN_IF_ERROR(
      CompareDigests(rank, "digest of sharding.layer_placements", theirs.placements_digest, ours.placements_digest));
  char expected[kDigestBytes];
  CopyDigest(RangesDigest(geometry, static_cast<int>(rank), ranks), expected);
  return CompareDigests(rank, "digest of row ranges", theirs.ranges_digest, expected);
}

// Sharing one would only split its bandwidth, and NCCL refuses it.
absl::Status CompareGpus(const std::vector<RankSummary>& summaries) {
  std::map<std::string, size_t> rank_of;
  for (size_t rank = 0; rank < summaries.size(); ++rank) {
    const std::string gpu(summaries[rank].gpu, kDigestBytes);
    if (gpu.find_first_not_of('\0') == std::string::npos) continue;
    const auto [first, is_new] = rank_of.emplace(gpu, rank);
    if (is_new) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "ranks ", first->second, " and ", rank,
        " would use the same GPU: start at most as many ranks on a host as it has GPUs, or show each rank its own"));
  }
  return absl::OkStatus();
}

absl::Status Judge(const std::vector<RankSummary>& summaries, const Geometry& geometry) {
  for (size_t rank = 0; rank < summaries.size(); ++rank) {
    ENGRAM_RETURN_IF_ERROR(StatusOf(summaries[rank].load, static_cast<int>(rank)));
  }
  for (size_t rank = 1; rank < summaries.size(); ++rank) {
    ENGRAM_RETURN_IF_ERROR(Compare(rank, summaries[rank], summaries[0], geometry, static_cast<int>(summaries.size())));
  }
  return CompareGpus(summaries);
}

}  // namespace

absl::Status Agree(Collective& collective, const Checkpoint& checkpoint, const EngineOptions& options,
                   const std::string& gpu, const absl::Status& mine, Deadline deadline) {
  const RankSummary summary = Summarize(collective, checkpoint, options, gpu, mine);
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<RankSummary> summaries, GatherRecords(collective, 0, summary, deadline));
  RankReport verdict;
  if (collective.rank() == 0) verdict = ReportOf(Judge(summaries, checkpoint.geometry));
  ENGRAM_RETURN_IF_ERROR(BroadcastRecord(collective, 0, verdict, deadline));
  return StatusOf(verdict);
}

absl::Status AgreeOnStatus(Collective& collective, const absl::Status& mine, Deadline deadline) {
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<RankReport> reports,
                          GatherRecords(collective, 0, ReportOf(mine), deadline));
  absl::Status first;
  for (size_t rank = 0; rank < reports.size(); ++rank) first.Update(StatusOf(reports[rank], static_cast<int>(rank)));
  RankReport verdict = ReportOf(first);
  ENGRAM_RETURN_IF_ERROR(BroadcastRecord(collective, 0, verdict, deadline));
  return StatusOf(verdict);
}

}  // namespace engram
