// The folder of a synthetic checkpoint.

#ifndef ENGRAM_CLIENT_TOOL_SYNTH_FOLDER_H_
#define ENGRAM_CLIENT_TOOL_SYNTH_FOLDER_H_

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace engram {

inline constexpr char kSynthNote[] = "engram_synth.json";  // what tells a synthetic checkpoint from others
inline constexpr char kSynthSequences[] = "engram_synth_sequences.jsonl";
inline constexpr char kSynthIndex[] = "model.safetensors.index.json";

// Made or emptied by Prepare, then written by others. Destroyed before Keep it is taken back as far as it was made
// here: a run that failed, on a full disk for instance, leaves neither files nor folders behind. One thread.
class SynthFolder {
 public:
  // Makes the folder with those above it, or with `force` empties it of an earlier synthetic checkpoint: nothing else
  // is ever removed. FAILED_PRECONDITION for a folder with files that may not be replaced, UNAVAILABLE where the system
  // refuses.
  static absl::StatusOr<std::unique_ptr<SynthFolder>> Prepare(const std::string& path, bool force);
  SynthFolder(const SynthFolder&) = delete;
  SynthFolder& operator=(const SynthFolder&) = delete;
  ~SynthFolder();

  void Keep() { keep_ = true; }

 private:
  explicit SynthFolder(std::filesystem::path path) : path_(std::move(path)) {}

  absl::Status Make();
  absl::Status CheckReplaceable(bool force) const;

  const std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // folders that were not there, the deepest first
  bool was_empty_ = false;
  bool keep_ = false;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SYNTH_FOLDER_H_
