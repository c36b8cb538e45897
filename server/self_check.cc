#include "server/self_check.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/files/table_reader.h"
#include "model/number_formats.h"

namespace engram {
namespace {

constexpr uint64_t kRowsBetween = 16;
constexpr uint64_t kRowsOfRound = 256;
constexpr uint16_t kMinusZero = 0x8000;

std::vector<uint64_t> SampleRows(uint64_t rows, size_t ranks) {
  std::set<uint64_t> sample;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const ShardRange range = ShardOf(rows, rank, ranks);
    if (range.begin == range.end) continue;
    sample.insert(range.begin);
    sample.insert(range.end - 1);
  }
  for (uint64_t i = 1; i <= kRowsBetween; ++i) sample.insert(rows / (kRowsBetween + 1) * i);
  return {sample.begin(), sample.end()};
}

class RowComparer {
 public:
  RowComparer(const Geometry& geometry, const TableReader& reader, CombineMode mode, RowForm form)
      : reader_(reader),
        mode_(mode),
        form_(form),
        packed_(geometry.packed_row_bytes()),
        dequantized_(geometry.head_dim) {}

  size_t row_bytes() const { return form_ == RowForm::kPacked ? packed_.size() : dequantized_.size() * 2; }

  absl::Status Compare(uint64_t row, const std::byte* served) {
    const absl::Span<uint8_t> codes = absl::MakeSpan(packed_).first(dequantized_.size());
    const absl::Span<uint8_t> scales = absl::MakeSpan(packed_).subspan(dequantized_.size());
    if (absl::Status status = reader_.ReadRow(row, codes, scales); !status.ok()) return status;
    if (form_ == RowForm::kBf16) DequantizeRow(codes, scales, absl::MakeSpan(dequantized_));
    if (Agree(served)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("row ", row, " as ", form_ == RowForm::kPacked ? "PACKED" : "BF16",
                                            ": what the ranks deliver is not what the file holds"));
  }

 private:
  bool Agree(const std::byte* served) const {
    if (form_ == RowForm::kPacked) return std::memcmp(served, packed_.data(), packed_.size()) == 0;
    for (size_t i = 0; i < dequantized_.size(); ++i) {
      uint16_t value = 0;
      std::memcpy(&value, served + 2 * i, sizeof(value));
      if (value == dequantized_[i]) continue;
      // A sum of bf16 rows turns -0 into +0.
      if (mode_ == CombineMode::kAllReduceBf16 && dequantized_[i] == kMinusZero && value == 0) continue;
      return false;
    }
    return true;
  }

  const TableReader& reader_;
  const CombineMode mode_;
  const RowForm form_;
  std::vector<uint8_t> packed_;
  std::vector<uint16_t> dequantized_;
};

absl::Status CheckRows(Engine& engine, size_t layer_index, RowForm form, absl::Span<const uint64_t> ids,
                       RowComparer& comparer) {
  std::vector<std::byte> rows(ids.size() * comparer.row_bytes());
  const RowBlock block{layer_index, form, ids, rows.data()};
  if (absl::Status status = engine.Gather(absl::MakeConstSpan(&block, 1)); !status.ok()) return status;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (absl::Status status = comparer.Compare(ids[i], rows.data() + i * comparer.row_bytes()); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> SelfCheck(Engine& engine, const Checkpoint& checkpoint, const EngineOptions& options,
                                   size_t ranks) {
  uint64_t compared = 0;
  const size_t rows_max = std::min(kRowsOfRound, options.round_rows_max);
  for (size_t layer = 0; layer < checkpoint.tables.size(); ++layer) {
    absl::StatusOr<TableReader> reader = TableReader::Open(checkpoint.tables[layer]);
    if (!reader.ok()) return reader.status();
    const std::vector<uint64_t> sample = SampleRows(checkpoint.tables[layer].rows, ranks);
    for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
      if (!Serves(options.combine, form)) continue;
      RowComparer comparer(checkpoint.geometry, *reader, options.combine, form);
      for (size_t begin = 0; begin < sample.size(); begin += rows_max) {
        const auto ids = absl::MakeConstSpan(sample).subspan(begin, rows_max);
        if (absl::Status status = CheckRows(engine, layer, form, ids, comparer); !status.ok()) {
          return absl::Status(status.code(), absl::StrCat("self check, layer ", checkpoint.geometry.layer_ids[layer],
                                                          ": ", status.message()));
        }
        compared += ids.size();
      }
    }
  }
  return compared;
}

}  // namespace engram
