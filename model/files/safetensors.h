// One safetensors file: 8 bytes of little-endian header length, a JSON header, then the data.

#ifndef ENGRAM_MODEL_FILES_SAFETENSORS_H_
#define ENGRAM_MODEL_FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/files/file.h"
#include "model/files/safetensors_header.h"

namespace engram {

// Where a tensor lies. `shape` is row-major; `offset` counts from the start of the file and is not aligned.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // as the file spells it: "F8_E4M3", "BF16", "I64"
  std::vector<uint64_t> shape;
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Bytes of one element of a dtype; 0 for dtypes that are not known or smaller than a byte.
uint32_t SafetensorsDtypeBytes(const std::string& dtype);

// INVALID_ARGUMENT naming the tensor, its file, what it has and what was expected.
absl::Status CheckTensor(const SafetensorsTensor& tensor, const std::vector<std::string>& dtypes_allowed,
                         const std::vector<uint64_t>& shape);

// Reads and checks the header at Open and keeps the file open. Immutable after Open, so any number of threads may use
// it. Every tensor's extent is checked against the file at Open; dtype and shape are checked only of tensors that are
// asked for, so that files may hold dtypes nobody here knows.
class SafetensorsFile {
 public:
  // INVALID_ARGUMENT for a malformed header, DATA_LOSS for a file shorter than its header says, and the errors of File.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  bool Has(const std::string& name) const { return header_.entries.contains(name); }
  std::vector<std::string> Names() const;  // sorted
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  // NOT_FOUND without such a tensor; INVALID_ARGUMENT where dtype, shape and extent do not fit each other.
  absl::StatusOr<SafetensorsTensor> Find(const std::string& name) const;

  // A tensor's bytes. RESOURCE_EXHAUSTED above `bytes_max`.
  absl::StatusOr<std::string> ReadBytes(const std::string& name, uint64_t bytes_max) const;

  // A tensor of any integer dtype, widened. INVALID_ARGUMENT for other dtypes and for values above 2^63 - 1;
  // RESOURCE_EXHAUSTED above `count_max` elements.
  absl::StatusOr<std::vector<int64_t>> ReadIntegers(const std::string& name, uint64_t count_max) const;

 private:
  explicit SafetensorsFile(File file) : file_(std::move(file)) {}
  absl::Status ReadHeader();
  absl::Status CheckExtents() const;

  File file_;
  uint64_t data_offset_ = 0;  // 8 + header length exactly: the format does not round up
  SafetensorsHeader header_;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_SAFETENSORS_H_
