#include "tests/unit/shard/synthetic_tables.h"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "model/number_formats.h"

namespace engram {
namespace {

constexpr uint64_t kOddOffset = 77;
constexpr uint32_t kGap = 3;

// `gap` bytes behind each row.
void WriteRows(std::ofstream& out, size_t layer, uint64_t rows, size_t begin, size_t end, uint32_t gap = 0) {
  for (uint64_t row = 0; row < rows; ++row) {
    for (size_t at = begin; at < end; ++at) out.put(static_cast<char>(SyntheticByte(layer, row, at)));
    out << std::string(gap, 'y');
  }
}

std::ofstream OpenPadded(const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  out << std::string(kOddOffset, 'x');
  return out;
}

TableFiles WriteTable(const TempFolder& folder, FileLayout layout, uint32_t head_dim, size_t layer, uint64_t rows) {
  const uint32_t scales = head_dim / kScaleBlock;
  const uint32_t width = head_dim + scales;
  const std::string codes = folder / absl::StrCat("codes", layer);
  std::ofstream codes_out = OpenPadded(codes);
  if (layout == FileLayout::kPacked) {
    WriteRows(codes_out, layer, rows, 0, width);
    return {rows, {codes, kOddOffset, width, head_dim}, {codes, kOddOffset + head_dim, width, scales}};
  }
  const std::string scales_path = folder / absl::StrCat("scales", layer);
  std::ofstream scales_out = OpenPadded(scales_path);
  const uint32_t gap = layout == FileLayout::kSpaced ? kGap : 0;
  WriteRows(codes_out, layer, rows, 0, head_dim, gap);
  WriteRows(scales_out, layer, rows, head_dim, width, gap);
  return {rows, {codes, kOddOffset, head_dim + gap, head_dim}, {scales_path, kOddOffset, scales + gap, scales}};
}

std::string ReadRecord(const StridedBytes& bytes, uint64_t row) {
  std::ifstream in(bytes.path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(bytes.offset + row * bytes.stride));
  std::string record(bytes.width, '\0');
  if (!in.read(record.data(), bytes.width)) throw std::runtime_error("no row in " + bytes.path);
  return record;
}

}  // namespace

TempFolder::TempFolder() {
  std::string path = std::filesystem::temp_directory_path() / "engram_shard_XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp " + path);
  path_ = path;
}

TempFolder::~TempFolder() { std::filesystem::remove_all(path_); }

uint8_t SyntheticByte(size_t layer, uint64_t row, size_t at) {
  uint64_t mixed = (row + 1) * 0x9E3779B97F4A7C15u ^ (at + 1) * 0xC2B2AE3D27D4EB4Fu ^ layer * 0x165667B19E3779F9u;
  mixed ^= mixed >> 29;
  mixed *= 0xBF58476D1CE4E5B9u;
  return static_cast<uint8_t>(mixed >> 56);
}

Checkpoint WriteSyntheticCheckpoint(const TempFolder& folder, FileLayout layout, uint32_t head_dim,
                                    const std::vector<uint64_t>& rows) {
  Checkpoint checkpoint;
  checkpoint.name = "synthetic";
  Geometry& geometry = checkpoint.geometry;
  for (size_t layer = 0; layer < rows.size(); ++layer) {
    geometry.layer_ids.push_back(static_cast<uint32_t>(1 + 13 * layer));
    checkpoint.tables.push_back(WriteTable(folder, layout, head_dim, layer, rows[layer]));
  }
  geometry.rows = rows;
  geometry.max_ngram_size = 3;
  geometry.heads = 1;
  geometry.head_dim = head_dim;
  geometry.vocab_size = 16;
  geometry.compressed_vocab_size = 16;
  checkpoint.constants_digest = std::string(32, 'c');
  checkpoint.model_digest = std::string(32, 'm');
  return checkpoint;
}

std::vector<std::byte> OracleRow(const Checkpoint& checkpoint, size_t layer, uint64_t row, RowForm form,
                                 CombineMode mode, int ranks) {
  const std::string codes = ReadRecord(checkpoint.tables[layer].codes, row);
  const std::string scales = ReadRecord(checkpoint.tables[layer].scales, row);
  std::string bytes = codes + scales;
  if (form == RowForm::kBf16) {
    bytes.clear();
    for (size_t i = 0; i < codes.size(); ++i) {
      uint16_t value = DequantizeToBf16(static_cast<uint8_t>(codes[i]), static_cast<uint8_t>(scales[i / kScaleBlock]));
      if (value == 0x8000 && mode == CombineMode::kAllReduceBf16 && ranks > 1) value = 0;  // -0 + 0
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  std::vector<std::byte> out(bytes.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace engram
