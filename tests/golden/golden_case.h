// The golden cases of tests/golden/data, as tests want them. Reads them with a reader of its own, so that a fault in
// model/files cannot hide itself. All functions throw std::runtime_error where a file is not as expected: tests only.

#ifndef ENGRAM_TESTS_GOLDEN_GOLDEN_CASE_H_
#define ENGRAM_TESTS_GOLDEN_GOLDEN_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

// One call of the reference. All steps of a case share one history per batch row; a start_pos below what was written
// before rewinds it.
struct GoldenStep {
  uint64_t start_pos = 0;
  std::vector<std::vector<uint32_t>> input_ids;  // [B][L]
  std::vector<std::vector<uint8_t>> token_mask;  // [B][L]: 1 takes part, 0 is dead; all 1 where the case has no mask
  std::vector<uint64_t> hash_ids;                // [B, L, layers, K]
  std::vector<std::vector<uint16_t>> rows;       // one a layer: bf16 [B, L, K, D], NaNs with payloads of their own

  size_t batch() const { return input_ids.size(); }
  size_t length() const { return input_ids[0].size(); }
};

struct GoldenCase {
  std::string name;
  Geometry geometry;
  HashConstants constants;
  uint64_t engram_vocab_size = 0;
  uint32_t pad_token_id = 0;
  std::vector<GoldenStep> steps;
};

// One layer's table, from the case's checkpoint folder.
struct GoldenTable {
  std::vector<uint8_t> codes;   // [rows, D]
  std::vector<uint8_t> scales;  // [rows, D/32]
};

inline constexpr const char* kGoldenNames[] = {"tiny", "medium", "extremes"};

// The path of a file or folder in tests/golden/data.
std::string GoldenPath(const std::string& name);

GoldenCase LoadGoldenCase(const std::string& name);
std::vector<GoldenTable> LoadGoldenTables(const GoldenCase& golden);  // one a layer

// Equal bits, or NaN both.
inline bool SameBf16(uint16_t a, uint16_t b) { return a == b || ((a & 0x7FFF) > 0x7F80 && (b & 0x7FFF) > 0x7F80); }

}  // namespace engram

#endif  // ENGRAM_TESTS_GOLDEN_GOLDEN_CASE_H_
