#include "model/files/gguf_splits.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr int64_t kSplitsMax = 4096;
constexpr char kCountKey[] = "split.count";
constexpr char kNumberKey[] = "split.no";
constexpr char kTensorsKey[] = "split.tensors.count";

std::string SplitSuffix(int64_t number, int64_t count) {
  return absl::StrFormat("-%05d-of-%05d.gguf", number + 1, count);
}

absl::Status ExpectKey(const GgufFile& file, const std::string& key, int64_t expected, const std::string& source) {
  ENGRAM_ASSIGN_OR_RETURN(const int64_t value, file.Integer(key));
  if (value == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file.path(), ": key ", key, " is ", value, ", but ", source, " says ", expected));
}

}  // namespace

absl::StatusOr<GgufModel> GgufModel::Open(const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(GgufFile first, GgufFile::Open(path));
  GgufModel model(std::move(first));
  ENGRAM_RETURN_IF_ERROR(model.AddTensors(model.first_));
  if (model.first_.Has(kCountKey)) ENGRAM_RETURN_IF_ERROR(model.AddSplits());
  return model;
}

absl::Status GgufModel::AddTensors(const GgufFile& file) {
  for (const GgufTensor& tensor : file.tensors()) {
    const auto [entry, is_new] = tensors_.emplace(tensor.name, tensor);
    if (is_new) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", tensor.name, " is in ", entry->second.path, " and in ", file.path()));
  }
  return absl::OkStatus();
}

absl::Status GgufModel::AddSplits() {
  const std::string& path = first_.path();
  ENGRAM_ASSIGN_OR_RETURN(const int64_t count, first_.Integer(kCountKey));
  if (count < 0 || count > kSplitsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": key ", kCountKey, " is ", count, ", not in [0, ", kSplitsMax, "]"));
  }
  if (count <= 1) return absl::OkStatus();
  ENGRAM_ASSIGN_OR_RETURN(const int64_t number, first_.Integer(kNumberKey));
  if (number != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": key ", kNumberKey, " is ", number,
                                                   ": open the first file of the split, number 0, instead"));
  }
  absl::string_view stem = path;
  if (!absl::ConsumeSuffix(&stem, SplitSuffix(0, count))) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", count, " splits, so its name must end in ", SplitSuffix(0, count)));
  }
  for (int64_t i = 1; i < count; ++i) {
    ENGRAM_RETURN_IF_ERROR(AddSplit(absl::StrCat(stem, SplitSuffix(i, count)), i, count));
  }
  if (!first_.Has(kTensorsKey)) return absl::OkStatus();
  return ExpectKey(first_, kTensorsKey, static_cast<int64_t>(tensors_.size()), "the number of tensors found");
}

absl::Status GgufModel::AddSplit(const std::string& path, int64_t number, int64_t count) {
  ENGRAM_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  ENGRAM_RETURN_IF_ERROR(ExpectKey(file, kNumberKey, number, "the name"));
  ENGRAM_RETURN_IF_ERROR(ExpectKey(file, kCountKey, count, "the first split"));
  return AddTensors(file);
}

absl::StatusOr<GgufTensor> GgufModel::FindTensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return absl::NotFoundError(absl::StrCat(first_.path(), ": has no tensor ", name));
  return found->second;
}

}  // namespace engram
