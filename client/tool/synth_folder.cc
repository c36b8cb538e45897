#include "client/tool/synth_folder.h"

#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace engram {
namespace {

namespace fs = std::filesystem;

absl::Status Failed(const fs::path& path, const std::error_code& error) {
  return error ? absl::UnavailableError(absl::StrCat(path.string(), ": ", error.message())) : absl::OkStatus();
}

// The index first: without it the rest is no checkpoint. What tells that the folder is a synthetic one stays.
absl::Status RemoveTables(const fs::path& folder) {
  std::error_code error;
  fs::remove(folder / kSynthIndex, error);
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool shard = absl::StartsWith(name, "model-") && absl::EndsWith(name, ".safetensors");
    if (shard || name == kSynthSequences) fs::remove(entry.path(), error);
  }
  return Failed(folder, error);
}

}  // namespace

absl::Status SynthFolder::Make() {
  std::error_code error;
  for (fs::path missing = path_; !missing.empty() && !fs::exists(fs::symlink_status(missing, error));
       missing = missing.parent_path()) {
    made_.push_back(missing);
  }
  fs::create_directories(path_, error);
  if (error) return Failed(path_, error);
  was_empty_ = fs::is_empty(path_, error);
  return Failed(path_, error);
}

absl::Status SynthFolder::CheckReplaceable(bool force) const {
  if (!force) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_.string(), " is not empty (--force replaces a synthetic checkpoint)"));
  }
  std::error_code error;
  if (fs::exists(path_ / kSynthNote, error)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path_.string(), " holds files but no ", kSynthNote,
                                                    ": --force replaces synthetic checkpoints only"));
}

absl::StatusOr<std::unique_ptr<SynthFolder>> SynthFolder::Prepare(const std::string& path, bool force) {
  std::unique_ptr<SynthFolder> folder(new SynthFolder(path));
  absl::Status status = folder->Make();
  if (status.ok() && folder->was_empty_) return folder;
  if (status.ok()) status = folder->CheckReplaceable(force);
  if (status.ok()) {
    status = RemoveTables(folder->path_);
  } else {
    folder->keep_ = folder->made_.empty();  // files of others, which this run did not touch
  }
  if (!status.ok()) return status;
  return folder;
}

SynthFolder::~SynthFolder() {
  if (keep_) return;
  std::error_code ignored;
  RemoveTables(path_).IgnoreError();
  if (was_empty_) {
    for (const char* name : {kSynthNote, "config.json", "tokenizer.json"}) fs::remove(path_ / name, ignored);
  }
  for (const fs::path& folder : made_) fs::remove(folder, ignored);  // only where it is empty
}

}  // namespace engram
