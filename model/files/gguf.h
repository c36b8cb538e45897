// GGUF version 3: typed metadata, then tensor descriptions, then the data.

#ifndef ENGRAM_MODEL_FILES_GGUF_H_
#define ENGRAM_MODEL_FILES_GGUF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/files/file.h"

namespace engram {

// Value types, by the numbers the files use.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// The one tensor type the tables use: plain bytes.
inline constexpr uint32_t kGgufTensorI8 = 24;

// Where a tensor lies. `dims` as the file has them, the fastest first (the reverse of a row-major shape).
struct GgufTensor {
  std::string name;
  uint32_t type = 0;
  std::vector<uint64_t> dims;
  std::string path;
  uint64_t offset = 0;      // from the start of the file
  uint64_t file_bytes = 0;  // size of that file
};

// INVALID_ARGUMENT where type or dims are not the expected ones, DATA_LOSS where the file ends before the tensor does;
// both name the tensor. For types of one byte an element.
absl::Status CheckGgufTensor(const GgufTensor& tensor, uint32_t type, const std::vector<uint64_t>& dims);

// One file. Open walks the whole header (bounded: counts, lengths and depths are checked before they are used) but
// keeps only where each value lies; the accessors read a value when it is asked for. Immutable after Open: any number
// of threads may use it. Every error names the path and the key or tensor.
class GgufFile {
 public:
  // INVALID_ARGUMENT for a malformed header or another version, DATA_LOSS where the file ends inside it, and the errors
  // of File.
  static absl::StatusOr<GgufFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  bool Has(const std::string& key) const { return values_.contains(key); }

  // INVALID_ARGUMENT for a missing key, another type, or a value above 2^63 - 1. Integers of 8 to 64 bits, signed or
  // not, are widened. RESOURCE_EXHAUSTED for arrays above `count_max` elements.
  absl::StatusOr<int64_t> Integer(const std::string& key) const;
  absl::StatusOr<std::vector<int64_t>> Integers(const std::string& key, uint64_t count_max) const;
  absl::StatusOr<std::string> String(const std::string& key) const;

  const std::vector<GgufTensor>& tensors() const { return tensors_; }

 private:
  friend class GgufHeaderReader;
  struct Value {
    GgufType type = GgufType::kUint8;  // an array's element type where is_array
    bool is_array = false;
    uint64_t count = 1;
    uint64_t offset = 0;  // of the first element
  };

  explicit GgufFile(File file) : file_(std::move(file)) {}
  absl::StatusOr<const Value*> Find(const std::string& key) const;
  absl::StatusOr<std::vector<int64_t>> ReadIntegers(const std::string& key, const Value& value) const;

  File file_;
  absl::flat_hash_map<std::string, Value> values_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_GGUF_H_
