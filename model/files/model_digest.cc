#include "model/files/model_digest.h"

#include <algorithm>
#include <string_view>

#include "model/digest.h"
#include "model/files/errors.h"
#include "model/files/table_reader.h"

namespace engram {
namespace {

constexpr uint64_t kSamples = 64;

std::string_view View(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status AddTable(const Geometry& geometry, size_t layer_index, const TableFiles& table, Digest* digest) {
  digest->AddNumber(geometry.layer_ids[layer_index]);
  digest->AddNumber(geometry.rows[layer_index]);
  digest->AddNumber(geometry.head_dim);
  digest->AddBytes("F8_E4M3");
  digest->AddBytes("F8_E8M0");
  ENGRAM_ASSIGN_OR_RETURN(const TableReader reader, TableReader::Open(table));
  std::vector<uint8_t> codes(geometry.head_dim);
  std::vector<uint8_t> scales(geometry.scales());
  for (const uint64_t row : SampledRows(table.rows)) {
    ENGRAM_RETURN_IF_ERROR(reader.ReadRow(row, absl::MakeSpan(codes), absl::MakeSpan(scales)));
    digest->AddNumber(row);
    digest->AddBytes(View(codes));
    digest->AddBytes(View(scales));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<uint64_t> SampledRows(uint64_t rows) {
  std::vector<uint64_t> sampled;
  for (uint64_t i = 0; i < std::min(rows, kSamples); ++i) {
    sampled.push_back(rows <= kSamples ? i : i * (rows - 1) / (kSamples - 1));
  }
  return sampled;
}

absl::StatusOr<std::string> ModelDigest(const Geometry& geometry, const std::string& constants_digest,
                                        const std::vector<TableFiles>& tables) {
  Digest digest;
  digest.AddBytes("engram model 1");
  digest.AddBytes(constants_digest);
  for (size_t i = 0; i < tables.size(); ++i) ENGRAM_RETURN_IF_ERROR(AddTable(geometry, i, tables[i], &digest));
  return digest.Finish();
}

}  // namespace engram
