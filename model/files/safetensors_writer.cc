#include "model/files/safetensors_writer.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "model/files/checked_math.h"
#include "model/files/errors.h"
#include "model/files/safetensors.h"

namespace engram {
namespace {

constexpr uint64_t kFileBytesMax = INT64_MAX;

absl::StatusOr<uint64_t> TensorBytes(const SafetensorsSpec& tensor) {
  const uint32_t element_bytes = SafetensorsDtypeBytes(tensor.dtype);
  if (element_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name, ": dtype ", tensor.dtype, " is not known"));
  }
  const auto count = CheckedProduct(tensor.shape);
  const auto bytes = count ? CheckedMultiply(*count, element_bytes) : std::nullopt;
  if (!bytes || *bytes > kFileBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name, ": is larger than any file"));
  }
  return *bytes;
}

// Length and JSON, padded with spaces so that the data begins at a multiple of 8, as other writers do.
std::string HeaderBytes(const nlohmann::ordered_json& json) {
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  std::string header(sizeof(length), '\0');
  std::memcpy(header.data(), &length, sizeof(length));
  return header + text;
}

absl::StatusOr<nlohmann::ordered_json> HeaderJson(const std::vector<SafetensorsSpec>& tensors,
                                                  const std::map<std::string, std::string>& metadata,
                                                  SafetensorsLayout* layout) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  uint64_t end = 0;
  for (const SafetensorsSpec& tensor : tensors) {
    if (json.contains(tensor.name) || tensor.name == "__metadata__") {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name, ": the name is taken"));
    }
    ENGRAM_ASSIGN_OR_RETURN(const uint64_t bytes, TensorBytes(tensor));
    if (bytes > kFileBytesMax - end) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name, ": ends beyond any file"));
    }
    json[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {end, end + bytes}}};
    layout->offsets.push_back(end);
    layout->tensor_bytes.push_back(bytes);
    end += bytes;
  }
  layout->file_bytes = end;
  return json;
}

}  // namespace

absl::StatusOr<SafetensorsLayout> LayOutSafetensors(const std::vector<SafetensorsSpec>& tensors,
                                                    const std::map<std::string, std::string>& metadata) {
  SafetensorsLayout layout;
  try {
    ENGRAM_ASSIGN_OR_RETURN(const nlohmann::ordered_json json, HeaderJson(tensors, metadata, &layout));
    layout.header = HeaderBytes(json);
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("names and metadata must be UTF-8: ", error.what()));
  }
  const auto file_bytes = CheckedAdd(layout.file_bytes, layout.header.size());
  if (!file_bytes || *file_bytes > kFileBytesMax) {
    return absl::InvalidArgumentError("the tensors together are larger than any file");
  }
  layout.file_bytes = *file_bytes;
  for (uint64_t& offset : layout.offsets) offset += layout.header.size();
  return layout;
}

absl::Status WriteSafetensors(const std::string& path, const std::vector<SafetensorsSpec>& tensors,
                              const std::vector<std::string_view>& bytes,
                              const std::map<std::string, std::string>& metadata) {
  if (bytes.size() != tensors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", tensors.size(), " tensors, but bytes of ", bytes.size()));
  }
  auto layout = LayOutSafetensors(tensors, metadata);
  if (!layout.ok()) return Annotate(layout.status(), path);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i].size() == layout->tensor_bytes[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", tensors[i].name, " needs ",
                                                   layout->tensor_bytes[i], " bytes, got ", bytes[i].size()));
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(layout->header.data(), static_cast<std::streamsize>(layout->header.size()));
  for (const std::string_view part : bytes) out.write(part.data(), static_cast<std::streamsize>(part.size()));
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
  return absl::OkStatus();
}

}  // namespace engram
