#include "model/files/gguf.h"

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/files/checked_math.h"
#include "model/files/errors.h"
#include "model/files/gguf_types.h"

namespace engram {
namespace {

static_assert(std::endian::native == std::endian::little, "file numbers are little-endian and read as they lie");

constexpr uint64_t kStringBytesMax = 1 << 20;

struct TypeInfo {
  const char* name;
  uint32_t bytes;  // 0: not of fixed size
  bool is_integer;
};

// By the numbers of GgufType.
constexpr TypeInfo kTypes[] = {{"u8", 1, true},      {"i8", 1, true},     {"u16", 2, true},  {"i16", 2, true},
                               {"u32", 4, true},     {"i32", 4, true},    {"f32", 4, false}, {"bool", 1, false},
                               {"string", 0, false}, {"array", 0, false}, {"u64", 8, true},  {"i64", 8, true},
                               {"f64", 8, false}};

TypeInfo InfoOf(GgufType type) {
  const auto index = static_cast<size_t>(type);
  return index < std::size(kTypes) ? kTypes[index] : TypeInfo{"unknown", 0, false};
}

template <typename T>
int64_t Widen(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<int64_t>(value);  // u64 above 2^63 - 1 becomes negative; the caller looks
}

int64_t WidenAs(GgufType type, const char* bytes) {
  switch (type) {
    case GgufType::kUint8:
      return Widen<uint8_t>(bytes);
    case GgufType::kInt8:
      return Widen<int8_t>(bytes);
    case GgufType::kUint16:
      return Widen<uint16_t>(bytes);
    case GgufType::kInt16:
      return Widen<int16_t>(bytes);
    case GgufType::kUint32:
      return Widen<uint32_t>(bytes);
    case GgufType::kInt32:
      return Widen<int32_t>(bytes);
    default:
      return Widen<int64_t>(bytes);
  }
}

std::string DimsText(const std::vector<uint64_t>& dims) { return absl::StrCat("[", absl::StrJoin(dims, ", "), "]"); }

}  // namespace

uint32_t GgufScalarBytes(GgufType type) { return InfoOf(type).bytes; }
bool IsGgufInteger(GgufType type) { return InfoOf(type).is_integer; }
std::string GgufTypeName(GgufType type) { return InfoOf(type).name; }

absl::Status CheckGgufTensor(const GgufTensor& tensor, uint32_t type, const std::vector<uint64_t>& dims) {
  const std::string where = absl::StrCat(tensor.path, ": tensor ", tensor.name);
  if (tensor.type != type) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": type is ", tensor.type, ", expected ", type));
  }
  if (tensor.dims != dims) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": dims are ", DimsText(tensor.dims), ", expected ", DimsText(dims)));
  }
  const auto bytes = CheckedProduct(dims);
  const auto end = bytes ? CheckedAdd(tensor.offset, *bytes) : std::nullopt;
  if (!end || *end > tensor.file_bytes) {
    return absl::DataLossError(absl::StrCat(where, ": dims ", DimsText(dims), " at offset ", tensor.offset,
                                            " reach beyond the end of the file (", tensor.file_bytes, " bytes)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const GgufFile::Value*> GgufFile::Find(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return absl::InvalidArgumentError(absl::StrCat(path(), ": key ", key, " is missing"));
  return &found->second;
}

absl::StatusOr<std::vector<int64_t>> GgufFile::ReadIntegers(const std::string& key, const Value& value) const {
  if (!IsGgufInteger(value.type)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path(), ": key ", key, ": holds ", GgufTypeName(value.type), ", not integers"));
  }
  const uint32_t bytes = GgufScalarBytes(value.type);
  std::string raw(value.count * bytes, '\0');  // inside the file, as Open has checked
  ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(value.offset, raw.data(), raw.size()));
  std::vector<int64_t> values(value.count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = WidenAs(value.type, raw.data() + i * bytes);
    if (value.type == GgufType::kUint64 && values[i] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(path(), ": key ", key, ": element ", i, " is ",
                                                     static_cast<uint64_t>(values[i]), ", above 2^63 - 1"));
    }
  }
  return values;
}

absl::StatusOr<int64_t> GgufFile::Integer(const std::string& key) const {
  ENGRAM_ASSIGN_OR_RETURN(const Value* value, Find(key));
  if (value->is_array) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": key ", key, ": holds an array, not one integer"));
  }
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ReadIntegers(key, *value));
  return values[0];
}

absl::StatusOr<std::vector<int64_t>> GgufFile::Integers(const std::string& key, uint64_t count_max) const {
  ENGRAM_ASSIGN_OR_RETURN(const Value* value, Find(key));
  if (!value->is_array) {
    return absl::InvalidArgumentError(
        absl::StrCat(path(), ": key ", key, ": holds ", GgufTypeName(value->type), ", not an array of integers"));
  }
  if (value->count > count_max) {
    return absl::ResourceExhaustedError(absl::StrCat(path(), ": key ", key, ": array of ", value->count,
                                                     " elements, at most ", count_max, " are read"));
  }
  return ReadIntegers(key, *value);
}

absl::StatusOr<std::string> GgufFile::String(const std::string& key) const {
  ENGRAM_ASSIGN_OR_RETURN(const Value* value, Find(key));
  if (value->is_array || value->type != GgufType::kString) {
    return absl::InvalidArgumentError(absl::StrCat(
        path(), ": key ", key, ": holds ", value->is_array ? "an array" : GgufTypeName(value->type), ", not a string"));
  }
  uint64_t bytes = 0;
  ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(value->offset, &bytes, sizeof(bytes)));
  if (bytes > kStringBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path(), ": key ", key, ": string of ", bytes, " bytes, at most ", kStringBytesMax, " are read"));
  }
  std::string text(bytes, '\0');
  ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(value->offset + sizeof(bytes), text.data(), bytes));
  return text;
}

}  // namespace engram
