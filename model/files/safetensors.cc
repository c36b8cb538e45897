#include "model/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/files/checked_math.h"
#include "model/files/errors.h"

namespace engram {
namespace {

static_assert(std::endian::native == std::endian::little, "file numbers are little-endian and read as they lie");

constexpr uint64_t kHeaderBytesMax = uint64_t{256} << 20;

std::string ShapeText(const std::vector<uint64_t>& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

template <typename T>
absl::StatusOr<std::vector<int64_t>> Widen(const std::string& bytes) {
  std::vector<int64_t> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if (std::is_same_v<T, uint64_t> && static_cast<uint64_t>(value) > uint64_t{INT64_MAX}) {
      return absl::InvalidArgumentError(absl::StrCat("element ", i, " is ", value, ", above 2^63 - 1"));
    }
    values[i] = static_cast<int64_t>(value);
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> WidenAs(const std::string& dtype, const std::string& bytes) {
  if (dtype == "I8") return Widen<int8_t>(bytes);
  if (dtype == "U8") return Widen<uint8_t>(bytes);
  if (dtype == "I16") return Widen<int16_t>(bytes);
  if (dtype == "U16") return Widen<uint16_t>(bytes);
  if (dtype == "I32") return Widen<int32_t>(bytes);
  if (dtype == "U32") return Widen<uint32_t>(bytes);
  if (dtype == "I64") return Widen<int64_t>(bytes);
  if (dtype == "U64") return Widen<uint64_t>(bytes);
  return absl::InvalidArgumentError(absl::StrCat("dtype is ", dtype, ", not an integer type"));
}

}  // namespace

uint32_t SafetensorsDtypeBytes(const std::string& dtype) {
  static const auto* const kBytes = new absl::flat_hash_map<std::string, uint32_t>{
      {"BOOL", 1},        {"I8", 1},  {"U8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
      {"F8_E4M3FNUZ", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},     {"BF16", 2},    {"F8_E5M2FNUZ", 1},
      {"I32", 4},         {"U32", 4}, {"F32", 4}, {"I64", 8},     {"U64", 8},     {"F64", 8}};
  const auto found = kBytes->find(dtype);
  return found == kBytes->end() ? 0 : found->second;
}

absl::Status CheckTensor(const SafetensorsTensor& tensor, const std::vector<std::string>& dtypes_allowed,
                         const std::vector<uint64_t>& shape) {
  const std::string where = absl::StrCat(tensor.path, ": tensor ", tensor.name);
  if (std::find(dtypes_allowed.begin(), dtypes_allowed.end(), tensor.dtype) == dtypes_allowed.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": dtype is ", tensor.dtype, ", expected ", absl::StrJoin(dtypes_allowed, " or ")));
  }
  if (tensor.shape != shape) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": shape is ", ShapeText(tensor.shape), ", expected ", ShapeText(shape)));
  }
  return absl::OkStatus();
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(File opened, File::Open(path));
  SafetensorsFile file(std::move(opened));
  ENGRAM_RETURN_IF_ERROR(file.ReadHeader());
  ENGRAM_RETURN_IF_ERROR(file.CheckExtents());
  return file;
}

absl::Status SafetensorsFile::ReadHeader() {
  uint64_t header_bytes = 0;
  ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(0, &header_bytes, sizeof(header_bytes)));
  if (header_bytes > kHeaderBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": header length ", header_bytes, " is above ",
                                                   kHeaderBytesMax, "; is this a safetensors file?"));
  }
  data_offset_ = sizeof(header_bytes) + header_bytes;
  if (data_offset_ > file_.size()) {
    return absl::DataLossError(absl::StrCat(path(), ": header length ", header_bytes,
                                            " is beyond the end of the file (", file_.size(), " bytes)"));
  }
  std::string json(header_bytes, '\0');
  ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(sizeof(header_bytes), json.data(), json.size()));
  auto header = ParseSafetensorsHeader(json);
  if (!header.ok()) return Annotate(header.status(), path());
  header_ = std::move(header).value();
  return absl::OkStatus();
}

absl::Status SafetensorsFile::CheckExtents() const {
  const uint64_t data_bytes = file_.size() - data_offset_;
  for (const auto& [name, entry] : header_.entries) {
    if (entry.end > data_bytes) {
      return absl::DataLossError(absl::StrCat(path(), ": tensor ", name, ": data_offsets end ", entry.end,
                                              " is beyond the file's ", data_bytes, " bytes of data"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> SafetensorsFile::Names() const {
  std::vector<std::string> names;
  names.reserve(header_.entries.size());
  for (const auto& named : header_.entries) names.push_back(named.first);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<SafetensorsTensor> SafetensorsFile::Find(const std::string& name) const {
  const auto found = header_.entries.find(name);
  if (found == header_.entries.end()) return absl::NotFoundError(absl::StrCat(path(), ": has no tensor ", name));
  const auto& entry = found->second;
  const uint64_t bytes = entry.end - entry.begin;
  const uint32_t element_bytes = SafetensorsDtypeBytes(entry.dtype);
  if (element_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path(), ": tensor ", name, ": dtype ", entry.dtype, " is not known"));
  }
  const auto count = CheckedProduct(entry.shape);
  const auto expected = count ? CheckedMultiply(*count, element_bytes) : std::nullopt;
  if (!expected || *expected != bytes) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": tensor ", name, ": shape ", ShapeText(entry.shape),
                                                   " of ", entry.dtype, " does not fit the ", bytes,
                                                   " bytes of data_offsets"));
  }
  return SafetensorsTensor{name, entry.dtype, entry.shape, path(), data_offset_ + entry.begin, bytes};
}

absl::StatusOr<std::string> SafetensorsFile::ReadBytes(const std::string& name, uint64_t bytes_max) const {
  ENGRAM_ASSIGN_OR_RETURN(const SafetensorsTensor tensor, Find(name));
  if (tensor.bytes > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path(), ": tensor ", name, " has ", tensor.bytes, " bytes, at most ", bytes_max, " are read"));
  }
  std::string bytes(tensor.bytes, '\0');
  ENGRAM_RETURN_IF_ERROR(file_.ReadExactly(tensor.offset, bytes.data(), bytes.size()));
  return bytes;
}

absl::StatusOr<std::vector<int64_t>> SafetensorsFile::ReadIntegers(const std::string& name, uint64_t count_max) const {
  ENGRAM_ASSIGN_OR_RETURN(const SafetensorsTensor tensor, Find(name));
  const auto bytes_max = CheckedMultiply(count_max, SafetensorsDtypeBytes(tensor.dtype));
  ENGRAM_ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(name, bytes_max.value_or(UINT64_MAX)));
  auto values = WidenAs(tensor.dtype, bytes);
  if (!values.ok()) return Annotate(values.status(), absl::StrCat(path(), ": tensor ", name));
  return values;
}

}  // namespace engram
