// Writing files for `engram synth`: whole tables in large pieces, or single rows into holes.

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_FILES_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace engram {

// Owns a descriptor of a file made anew. Movable, one thread. Errors name the path and what the system said;
// UNIMPLEMENTED where the file system cannot hold so large a file.
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  absl::Status Resize(uint64_t bytes);
  absl::Status WriteAt(uint64_t offset, std::string_view bytes);
  absl::Status Close();  // reports what the system had put off

 private:
  OutputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  absl::Status Failed(const char* what) const;

  std::string path_;
  int descriptor_ = -1;
};

absl::Status WriteWholeFile(const std::string& path, std::string_view bytes);

// OK where a large file with holes takes little room in `folder` (tried with a file that is removed again), else
// UNIMPLEMENTED.
absl::Status CheckHoles(const std::string& folder);

struct SpaceOnDisk {
  uint64_t free_bytes = 0;
  uint64_t block_bytes = 0;
};
absl::StatusOr<SpaceOnDisk> SpaceOf(const std::string& folder);

// Bytes that a file takes on disk.
absl::StatusOr<uint64_t> DiskBytes(const std::string& path);

// A table's place, and what its rows are drawn from.
struct SynthTableTarget {
  OutputFile& codes;
  uint64_t codes_offset;
  OutputFile& scales;
  uint64_t scales_offset;
  uint32_t head_dim;
  uint64_t layer_key;
};

absl::Status WriteAllRows(const SynthTableTarget& table, uint64_t rows);
// `ids` ascending.
absl::Status WriteSomeRows(const SynthTableTarget& table, absl::Span<const uint64_t> ids);

// Upper bound of the disk blocks that WriteSomeRows fills for records of `width` bytes at `offset`. `ids` ascending.
uint64_t BlocksTouched(absl::Span<const uint64_t> ids, uint64_t offset, uint64_t width, uint64_t block_bytes);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_FILES_H_
