// The tensors of a checkpoint folder: one model.safetensors, or shards listed by an index.

#ifndef ENGRAM_MODEL_FILES_SAFETENSORS_SET_H_
#define ENGRAM_MODEL_FILES_SAFETENSORS_SET_H_

#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "model/files/safetensors.h"

namespace engram {

// Reads model.safetensors.index.json (or the header of model.safetensors where there is no index) at Open; a shard's
// header is read when the first tensor of it is asked for. Not thread-safe.
class SafetensorsSet {
 public:
  // NOT_FOUND when the folder has neither file; INVALID_ARGUMENT for a malformed index, or one that names a file
  // outside the folder.
  static absl::StatusOr<SafetensorsSet> Open(const std::string& folder);

  bool Has(const std::string& name) const;

  // NOT_FOUND naming the tensor, and the index or shard that lacks it; and the errors of SafetensorsFile.
  absl::StatusOr<SafetensorsTensor> Find(const std::string& name);

 private:
  explicit SafetensorsSet(std::string folder) : folder_(std::move(folder)) {}
  absl::Status ReadIndex(const std::string& index_path);
  absl::StatusOr<const SafetensorsFile*> Shard(const std::string& file_name);

  std::string folder_;
  std::string listed_in_;                                     // the file that lists the tensors, for messages
  absl::flat_hash_map<std::string, std::string> weight_map_;  // tensor -> file name; empty without an index
  std::map<std::string, SafetensorsFile> shards_;             // opened so far
};

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_SAFETENSORS_SET_H_
