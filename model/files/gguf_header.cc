// The walk over a GGUF header.

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "model/files/checked_math.h"
#include "model/files/errors.h"
#include "model/files/gguf.h"
#include "model/files/gguf_cursor.h"
#include "model/files/gguf_types.h"

namespace engram {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kVersion = 3;
constexpr uint64_t kTensorsMax = 1 << 20;
constexpr uint64_t kKeysMax = 1 << 16;
constexpr uint64_t kKeyBytesMax = 65535;
constexpr uint64_t kTensorNameBytesMax = 1024;
constexpr uint32_t kDimsMax = 4;
constexpr int kArrayDepthMax = 3;
constexpr uint64_t kAlignmentMax = 1 << 20;
constexpr int64_t kAlignmentDefault = 32;
constexpr char kAlignmentKey[] = "general.alignment";

}  // namespace

// Lives for one GgufFile::Open.
class GgufHeaderReader {
 public:
  explicit GgufHeaderReader(GgufFile* out) : out_(*out), cursor_(out->file_) {}

  absl::Status Read() {
    uint64_t tensors = 0;
    uint64_t keys = 0;
    ENGRAM_RETURN_IF_ERROR(ReadPreamble(&tensors, &keys));
    for (uint64_t i = 0; i < keys; ++i) ENGRAM_RETURN_IF_ERROR(ReadPair(i));
    for (uint64_t i = 0; i < tensors; ++i) ENGRAM_RETURN_IF_ERROR(ReadTensor(i));
    return PlaceTensors();
  }

 private:
  absl::Status Malformed(const std::string& message) const {
    return absl::InvalidArgumentError(absl::StrCat(out_.path(), ": ", message));
  }

  absl::Status ReadPreamble(uint64_t* tensors, uint64_t* keys) {
    uint32_t magic = 0;
    uint32_t version = 0;
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(&magic));
    if (magic != kMagic) return Malformed("does not begin with the magic GGUF");
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(&version));
    if (version != kVersion) return Malformed(absl::StrCat("version is ", version, ", only ", kVersion, " is read"));
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(tensors));
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(keys));
    if (*tensors > kTensorsMax) return Malformed(absl::StrCat("tensor_count is ", *tensors, ", above ", kTensorsMax));
    if (*keys > kKeysMax) return Malformed(absl::StrCat("metadata_kv_count is ", *keys, ", above ", kKeysMax));
    return absl::OkStatus();
  }

  absl::Status ReadPair(uint64_t index) {
    ENGRAM_ASSIGN_OR_RETURN(const std::string key, cursor_.ReadString(absl::StrCat("key ", index), kKeyBytesMax));
    uint32_t type = 0;
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(&type));
    GgufFile::Value value;
    if (type == static_cast<uint32_t>(GgufType::kArray)) {
      value.is_array = true;
      ENGRAM_RETURN_IF_ERROR(ReadArrayHead(key, &type, &value.count));
    }
    value.type = static_cast<GgufType>(type);
    value.offset = cursor_.position();
    ENGRAM_RETURN_IF_ERROR(SkipValues(key, type, value.count, value.is_array ? 1 : 0));
    if (!out_.values_.emplace(key, value).second) return Malformed(absl::StrCat("key ", key, " occurs twice"));
    return absl::OkStatus();
  }

  absl::Status ReadArrayHead(const std::string& key, uint32_t* type, uint64_t* count) {
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(type));
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(count));
    // Each element has a byte at least, so this bounds the walk before it begins.
    if (*count > cursor_.remaining()) {
      return absl::DataLossError(absl::StrCat(out_.path(), ": key ", key, ": array of ", *count,
                                              " elements, but the file has only ", cursor_.remaining(), " more bytes"));
    }
    return absl::OkStatus();
  }

  // Moves behind `count` values of one type. Only strings and arrays need a walk.
  absl::Status SkipValues(const std::string& key, uint32_t type, uint64_t count, int depth) {
    if (depth > kArrayDepthMax)
      return Malformed(absl::StrCat("key ", key, ": arrays nest deeper than ", kArrayDepthMax));
    if (const uint32_t bytes = GgufScalarBytes(static_cast<GgufType>(type)); bytes > 0) {
      const auto total = CheckedMultiply(count, bytes);
      return Annotate(cursor_.Skip(total.value_or(UINT64_MAX)), absl::StrCat("key ", key));
    }
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t length = 0;
      if (type == static_cast<uint32_t>(GgufType::kString)) {
        ENGRAM_RETURN_IF_ERROR(Annotate(cursor_.ReadNumber(&length), absl::StrCat("key ", key)));
        ENGRAM_RETURN_IF_ERROR(Annotate(cursor_.Skip(length), absl::StrCat("key ", key, ": string")));
      } else if (type == static_cast<uint32_t>(GgufType::kArray)) {
        uint32_t inner = 0;
        ENGRAM_RETURN_IF_ERROR(ReadArrayHead(key, &inner, &length));
        ENGRAM_RETURN_IF_ERROR(SkipValues(key, inner, length, depth + 1));
      } else {
        return Malformed(absl::StrCat("key ", key, ": value type ", type, " is not known"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadTensor(uint64_t index) {
    GgufTensor tensor;
    ENGRAM_ASSIGN_OR_RETURN(tensor.name,
                            cursor_.ReadString(absl::StrCat("the name of tensor ", index), kTensorNameBytesMax));
    uint32_t dims = 0;
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(&dims));
    if (dims > kDimsMax) {
      return Malformed(absl::StrCat("tensor ", tensor.name, ": n_dims is ", dims, ", above ", kDimsMax));
    }
    tensor.dims.resize(dims);
    for (uint64_t& dim : tensor.dims) ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(&dim));
    if (!CheckedProduct(tensor.dims))
      return Malformed(absl::StrCat("tensor ", tensor.name, ": product of dims overflows"));
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(&tensor.type));
    ENGRAM_RETURN_IF_ERROR(cursor_.ReadNumber(&tensor.offset));
    if (!names_.insert(tensor.name).second) return Malformed(absl::StrCat("tensor ", tensor.name, " occurs twice"));
    tensor.path = out_.path();
    tensor.file_bytes = out_.file_.size();
    out_.tensors_.push_back(std::move(tensor));
    return absl::OkStatus();
  }

  // Offsets in the file count from the data section, which begins aligned behind the header.
  absl::Status PlaceTensors() {
    int64_t alignment = kAlignmentDefault;
    if (out_.Has(kAlignmentKey)) {
      ENGRAM_ASSIGN_OR_RETURN(alignment, out_.Integer(kAlignmentKey));
    }
    const auto step = static_cast<uint64_t>(alignment);
    if (alignment <= 0 || step > kAlignmentMax || (step & (step - 1)) != 0) {
      return Malformed(
          absl::StrCat("key ", kAlignmentKey, " is ", alignment, ", not a power of two in [1, ", kAlignmentMax, "]"));
    }
    const uint64_t data_begin = (cursor_.position() + step - 1) / step * step;
    for (GgufTensor& tensor : out_.tensors_) {
      const auto offset = CheckedAdd(data_begin, tensor.offset);
      if (!offset) return Malformed(absl::StrCat("tensor ", tensor.name, ": offset ", tensor.offset, " overflows"));
      tensor.offset = *offset;
    }
    return absl::OkStatus();
  }

  GgufFile& out_;
  GgufCursor cursor_;
  absl::flat_hash_set<std::string> names_;
};

absl::StatusOr<GgufFile> GgufFile::Open(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(File opened, File::Open(path));
  GgufFile file(std::move(opened));
  ENGRAM_RETURN_IF_ERROR(GgufHeaderReader(&file).Read());
  return file;
}

}  // namespace engram
