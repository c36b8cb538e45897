#include "gather_passes.h"

#include <algorithm>
#include <cstring>

#include "model/files/errors.h"
#include "shard/load_meter.h"
#include "shard/row_writer.h"
#include "shard/table_source.h"
#include "stopwatch.h"

namespace engram {
namespace {

constexpr size_t kCheckedEvery = 7;  // chunks

absl::StatusOr<std::unique_ptr<HostTable>> LoadHost(const BenchInput& input, size_t layer_index, LoadMeter& meter) {
  const ShardRange all{0, input.geometry().rows[layer_index]};
  ENGRAM_ASSIGN_OR_RETURN(TableSource source,
                          TableSource::Open(input.checkpoint.tables[layer_index], all, input.geometry().head_dim));
  ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<Table> table, HostTable::Load(std::move(source), all, meter));
  return std::unique_ptr<HostTable>(static_cast<HostTable*>(table.release()));
}

void CopyRows(const std::byte* table, absl::Span<const uint64_t> rows, size_t row_bytes, size_t ahead, std::byte* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(table);
  const size_t with_prefetch = rows.size() > ahead ? rows.size() - ahead : 0;
  size_t i = 0;
  for (; i < with_prefetch; ++i) {
    Prefetch(bytes + rows[i + ahead] * row_bytes, row_bytes);
    std::memcpy(out + i * row_bytes, table + rows[i] * row_bytes, row_bytes);
  }
  for (; i < rows.size(); ++i) std::memcpy(out + i * row_bytes, table + rows[i] * row_bytes, row_bytes);
}

}  // namespace

GatherPasses::GatherPasses(const BenchInput& input, size_t chunk_tokens)
    : input_(input),
      chunk_rows_(chunk_tokens * input.geometry().columns()),
      out_(chunk_rows_ * input.geometry().bf16_row_bytes()),
      check_(input) {}

absl::StatusOr<std::unique_ptr<GatherPasses>> GatherPasses::Open(const BenchInput& input, size_t chunk_tokens) {
  std::unique_ptr<GatherPasses> passes(new GatherPasses(input, chunk_tokens));
  ENGRAM_RETURN_IF_ERROR(passes->Load());
  return passes;
}

absl::Status GatherPasses::Load() {
  const Geometry& geometry = input_.geometry();
  uint64_t bytes = 0;
  for (const uint64_t rows : geometry.rows) bytes += rows * geometry.packed_row_bytes();
  LoadMeter meter(bytes, nullptr, DeadlineAfter(absl::Hours(1)));
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<HostTable> table, LoadHost(input_, layer, meter));
    tables_.push_back(std::move(table));
    ids_.push_back(input_.RowIds(layer));
    rows_ += ids_.back().size();
  }
  return absl::OkStatus();
}

void GatherPasses::LimitRows(uint64_t rows) {
  for (std::vector<uint64_t>& ids : ids_) {
    for (uint64_t& id : ids) id %= rows;
  }
}

absl::StatusOr<double> GatherPasses::Pass(RowForm form, Work work) {
  double seconds = 0;
  size_t chunk = 0;
  for (size_t layer = 0; layer < ids_.size(); ++layer) {
    for (size_t at = 0; at < ids_[layer].size(); at += chunk_rows_, ++chunk) {
      const Chunk ids = absl::MakeConstSpan(ids_[layer]).subspan(at, chunk_rows_);
      const Stopwatch watch;
      ENGRAM_RETURN_IF_ERROR(work(layer, ids));
      seconds += watch.Seconds();
      if (chunk % kCheckedEvery == 0) ENGRAM_RETURN_IF_ERROR(CheckSome(form, layer, ids));
    }
  }
  return static_cast<double>(rows_) / seconds;
}

absl::Status GatherPasses::CheckSome(RowForm form, size_t layer_index, Chunk ids) {
  const size_t width =
      form == RowForm::kPacked ? input_.geometry().packed_row_bytes() : input_.geometry().bf16_row_bytes();
  for (const size_t i : {size_t{0}, ids.size() / 3, ids.size() - 1}) {
    ENGRAM_RETURN_IF_ERROR(check_.Row(form, layer_index, ids[i], out_.data() + i * width));
  }
  std::fill_n(out_.data(), width, std::byte{0xFF});  // the next chunk must write it again
  return absl::OkStatus();
}

absl::StatusOr<double> GatherPasses::Gather(RowForm form) {
  return Pass(form, [&](size_t layer, Chunk ids) { return tables_[layer]->Gather(form, ids, {}, out_.data()); });
}

absl::StatusOr<double> GatherPasses::Copy() {
  const size_t row_bytes = input_.geometry().packed_row_bytes();
  return Pass(RowForm::kPacked, [&](size_t layer, Chunk ids) {
    CopyRows(tables_[layer]->packed_rows(), ids, row_bytes, rows_ahead_, out_.data());
    return absl::OkStatus();
  });
}

absl::Status GatherPasses::TuneCopy() {
  double best = 0;
  size_t fastest = rows_ahead_;
  for (const size_t ahead : {4, 8, 12, 16, 24}) {
    rows_ahead_ = ahead;
    ENGRAM_ASSIGN_OR_RETURN(const double rate, Copy());
    if (rate > best) fastest = ahead;
    best = std::max(best, rate);
  }
  rows_ahead_ = fastest;
  return absl::OkStatus();
}

}  // namespace engram
