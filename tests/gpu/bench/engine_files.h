// The files of the engine's tables: two layers of the released shape, few rows of docs/synthetic.md.

#ifndef ENGRAM_TESTS_GPU_BENCH_ENGINE_FILES_H_
#define ENGRAM_TESTS_GPU_BENCH_ENGINE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"

namespace engram::bench {

// Removes them when it goes.
class EngineFiles {
 public:
  // In a folder of its own below `folder`, or below the system's for temporary files. UNAVAILABLE when they cannot be
  // written.
  static absl::StatusOr<std::unique_ptr<EngineFiles>> Write(const std::string& folder, uint64_t bytes);

  ~EngineFiles();
  EngineFiles(const EngineFiles&) = delete;
  EngineFiles& operator=(const EngineFiles&) = delete;

  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  explicit EngineFiles(std::string folder) : folder_(std::move(folder)) {}

  absl::Status WriteLayer(uint32_t layer_id, uint64_t rows);

  const std::string folder_;
  Checkpoint checkpoint_;
};

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_ENGINE_FILES_H_
