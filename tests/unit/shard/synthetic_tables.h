// Small checkpoints whose bytes are a pure function of layer and row, in both layouts that released files have.

#ifndef ENGRAM_TESTS_UNIT_SHARD_SYNTHETIC_TABLES_H_
#define ENGRAM_TESTS_UNIT_SHARD_SYNTHETIC_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/files/checkpoint.h"
#include "shard/engine.h"

namespace engram {

// A folder that goes with its object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// safetensors: codes and scales in two files; GGUF: interleaved in one; what no released file has: two, with gaps.
enum class FileLayout { kApart, kPacked, kSpaced };

// Byte `at` of a packed row: every value occurs, NaN codes too.
uint8_t SyntheticByte(size_t layer, uint64_t row, size_t at);

// Tables of those rows at odd offsets; layer ids 1, 14, ... Digests are made up.
Checkpoint WriteSyntheticCheckpoint(const TempFolder& folder, FileLayout layout, uint32_t head_dim,
                                    const std::vector<uint64_t>& rows);

// The dumb reader: row `row` of a layer as the engine must return it at `ranks` ranks, straight from the file.
std::vector<std::byte> OracleRow(const Checkpoint& checkpoint, size_t layer, uint64_t row, RowForm form,
                                 CombineMode mode, int ranks);

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SHARD_SYNTHETIC_TABLES_H_
