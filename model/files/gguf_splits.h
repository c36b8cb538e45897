// A GGUF model that may be split over several files.

#ifndef ENGRAM_MODEL_FILES_GGUF_SPLITS_H_
#define ENGRAM_MODEL_FILES_GGUF_SPLITS_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "model/files/gguf.h"

namespace engram {

// Opening the first file of a split model (name-00001-of-00003.gguf) finds the others beside it. Immutable after Open.
class GgufModel {
 public:
  // The errors of GgufFile; INVALID_ARGUMENT where the path is not the first of its split, its name does not follow the
  // pattern, or the files do not belong together; NOT_FOUND naming a split that is not there.
  static absl::StatusOr<GgufModel> Open(const std::string& path);

  const GgufFile& metadata() const { return first_; }  // the first file carries the keys

  // In whichever file it lies. NOT_FOUND naming the tensor.
  absl::StatusOr<GgufTensor> FindTensor(const std::string& name) const;

 private:
  explicit GgufModel(GgufFile first) : first_(std::move(first)) {}
  absl::Status AddTensors(const GgufFile& file);
  absl::Status AddSplits();
  absl::Status AddSplit(const std::string& path, int64_t number, int64_t count);

  GgufFile first_;
  absl::flat_hash_map<std::string, GgufTensor> tensors_;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_GGUF_SPLITS_H_
