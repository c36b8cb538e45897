#include "shard/mapped_table.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "model/bus_guard.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr size_t kChunkRows = 256;
// Rows in the page cache take well under 1 us each, a row from a disk 50 us and more.
constexpr std::chrono::microseconds kColdRowTime{5};

absl::StatusOr<FileWindow> MapStream(const RowStream& stream, ShardRange range) {
  return FileWindow::Map(stream.file, stream.OffsetOf(range.begin), stream.BytesOf(range.end - range.begin));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> MappedTable::Map(TableSource source, ShardRange range) {
  absl::StatusOr<FileWindow> codes = MapStream(source.codes, range);
  if (!codes.ok()) return codes.status();
  absl::StatusOr<FileWindow> scales = MapStream(source.scales, range);
  if (!scales.ok()) return scales.status();
  return std::unique_ptr<Table>(new MappedTable(range, std::move(source), *std::move(codes), *std::move(scales)));
}

RowBytes MappedTable::Locate(uint64_t row) const {
  const uint64_t index = row - range().begin;
  return {codes_.data() + index * source_.codes.stride, scales_.data() + index * source_.scales.stride};
}

// With MADV_RANDOM a page that is not in memory is read alone while we wait. One row after the other that is slow, so a
// chunk after a slow one has all its pages requested first.
void MappedTable::GatherChunk(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                              std::byte* out) {
  const auto begin = std::chrono::steady_clock::now();
  if (cold_.load(std::memory_order_relaxed)) {
    for (uint64_t row : rows) {
      codes_.ReadAhead((row - range().begin) * source_.codes.stride, source_.codes.width);
      scales_.ReadAhead((row - range().begin) * source_.scales.stride, source_.scales.width);
    }
  }
  writer_.WriteAll(form, rows, slots, out, [this](uint64_t row) { return Locate(row); });
  const bool cold = std::chrono::steady_clock::now() - begin > kColdRowTime * rows.size();
  if (cold != cold_.load(std::memory_order_relaxed)) cold_.store(cold, std::memory_order_relaxed);
}

absl::Status MappedTable::CheckFiles() {
  const MutexLock lock(checking_);
  return source_.CheckUnchanged();
}

absl::Status MappedTable::Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                                 std::byte* out) {
  const bool finished = RunGuardedFromBusError([&] {
    for (size_t at = 0; at < rows.size(); at += kChunkRows) {
      std::byte* chunk_out = slots.empty() ? out + at * writer_.bytes(form) : out;
      GatherChunk(form, rows.subspan(at, kChunkRows), slots.empty() ? slots : slots.subspan(at, kChunkRows), chunk_out);
    }
  });
  // Asked after the copy: a file rewritten before or meanwhile shows now.
  ENGRAM_RETURN_IF_ERROR(CheckFiles());
  if (finished) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("cannot read rows of [", range().begin, ", ", range().end, ") from ",
                                          source_.codes.file.path(), " and ", source_.scales.file.path()));
}

}  // namespace engram
