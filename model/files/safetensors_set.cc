#include "model/files/safetensors_set.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "model/files/json_text.h"

namespace engram {
namespace {

constexpr uint64_t kIndexBytesMax = uint64_t{256} << 20;
constexpr char kIndexName[] = "model.safetensors.index.json";
constexpr char kSingleName[] = "model.safetensors";

// An index may name files inside its folder only.
bool IsInside(const std::string& file_name) {
  const std::filesystem::path path(file_name);
  if (file_name.empty() || path.is_absolute() || file_name.find('\0') != std::string::npos) return false;
  for (const auto& part : path) {
    if (part == "..") return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<SafetensorsSet> SafetensorsSet::Open(const std::string& folder) {
  SafetensorsSet set(folder);
  const std::string index_path = absl::StrCat(folder, "/", kIndexName);
  absl::Status status = set.ReadIndex(index_path);
  if (status.ok()) return set;
  if (!absl::IsNotFound(status)) return status;
  set.listed_in_ = absl::StrCat(folder, "/", kSingleName);
  status = set.Shard(kSingleName).status();
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(absl::StrCat(folder, ": has neither ", kIndexName, " nor ", kSingleName));
  }
  ENGRAM_RETURN_IF_ERROR(status);
  return set;
}

absl::Status SafetensorsSet::ReadIndex(const std::string& index_path) {
  ENGRAM_ASSIGN_OR_RETURN(const nlohmann::json index, ReadJsonObject(index_path, kIndexBytesMax));
  listed_in_ = index_path;
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(index_path, ": weight_map is missing or not an object"));
  }
  for (const auto& [name, file_name] : map->items()) {
    if (!file_name.is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat(index_path, ": weight_map of ", name, " is ", JsonKind(file_name), ", not a file name"));
    }
    const auto& text = file_name.get_ref<const std::string&>();
    if (!IsInside(text)) {
      return absl::InvalidArgumentError(
          absl::StrCat(index_path, ": weight_map of ", name, " is \"", text, "\", which is not inside the folder"));
    }
    weight_map_.emplace(name, text);
  }
  if (weight_map_.empty()) return absl::InvalidArgumentError(absl::StrCat(index_path, ": weight_map is empty"));
  return absl::OkStatus();
}

absl::StatusOr<const SafetensorsFile*> SafetensorsSet::Shard(const std::string& file_name) {
  auto found = shards_.find(file_name);
  if (found == shards_.end()) {
    ENGRAM_ASSIGN_OR_RETURN(SafetensorsFile shard, SafetensorsFile::Open(absl::StrCat(folder_, "/", file_name)));
    found = shards_.emplace(file_name, std::move(shard)).first;
  }
  return &found->second;
}

bool SafetensorsSet::Has(const std::string& name) const {
  if (weight_map_.empty()) return shards_.at(kSingleName).Has(name);
  return weight_map_.contains(name);
}

absl::StatusOr<SafetensorsTensor> SafetensorsSet::Find(const std::string& name) {
  if (!Has(name)) return absl::NotFoundError(absl::StrCat(listed_in_, ": has no tensor ", name));
  const std::string file_name = weight_map_.empty() ? kSingleName : weight_map_.at(name);
  const auto shard = Shard(file_name);
  if (!shard.ok()) return Annotate(shard.status(), absl::StrCat("tensor ", name));
  return (*shard)->Find(name);
}

}  // namespace engram
