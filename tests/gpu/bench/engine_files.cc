#include "tests/gpu/bench/engine_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "tests/gpu/bench/content.h"

namespace engram::bench {
namespace {

constexpr uint64_t kRowsAtOnce = 16384;

absl::Status Failed(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
}

// A file that is written from the front to the back.
class Output {
 public:
  explicit Output(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb"), std::fclose) {}

  const std::string& path() const { return path_; }

  absl::Status Write(const std::vector<uint64_t>& words) {
    if (file_ == nullptr) return Failed(path_);
    const size_t written = std::fwrite(words.data(), sizeof(uint64_t), words.size(), file_.get());
    return written == words.size() ? absl::OkStatus() : Failed(path_);
  }
  absl::Status Close() {
    if (file_ == nullptr) return Failed(path_);
    return std::fclose(file_.release()) == 0 ? absl::OkStatus() : Failed(path_);
  }

 private:
  const std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

absl::Status WriteRows(Output& codes, Output& scales, uint64_t layer_key, uint64_t rows) {
  std::vector<uint64_t> code_words;
  std::vector<uint64_t> scale_words;
  for (uint64_t begin = 0; begin < rows; begin += kRowsAtOnce) {
    code_words.clear();
    scale_words.clear();
    for (uint64_t row = begin; row < std::min(begin + kRowsAtOnce, rows); ++row) {
      const uint64_t key = RowKey(layer_key, row);
      for (uint32_t word = 0; word < kCodeWords; ++word) code_words.push_back(CodesOf(key, word));
      scale_words.push_back(ScalesOf(key));
    }
    ENGRAM_RETURN_IF_ERROR(codes.Write(code_words));
    ENGRAM_RETURN_IF_ERROR(scales.Write(scale_words));
  }
  ENGRAM_RETURN_IF_ERROR(codes.Close());
  return scales.Close();
}

Geometry GeometryOf(uint64_t rows) {
  Geometry geometry;
  geometry.layer_ids.assign(std::begin(kLayerIds), std::end(kLayerIds));
  geometry.rows.assign(geometry.layer_ids.size(), rows);
  geometry.max_ngram_size = 4;
  geometry.heads = 8;
  geometry.head_dim = kHeadDim;
  geometry.vocab_size = 129280;
  geometry.compressed_vocab_size = 99092;
  return geometry;
}

}  // namespace

absl::Status EngineFiles::WriteLayer(uint32_t layer_id, uint64_t rows) {
  Output codes(absl::StrCat(folder_, "/codes", layer_id));
  Output scales(absl::StrCat(folder_, "/scales", layer_id));
  ENGRAM_RETURN_IF_ERROR(WriteRows(codes, scales, LayerKey(kSeed, layer_id), rows));
  checkpoint_.tables.push_back({rows, {codes.path(), 0, kHeadDim, kHeadDim}, {scales.path(), 0, kScales, kScales}});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EngineFiles>> EngineFiles::Write(const std::string& folder, uint64_t bytes) {
  std::error_code error;
  std::string made = folder.empty() ? std::filesystem::temp_directory_path(error).string() : folder;
  made += "/engram_bench_XXXXXX";
  if (mkdtemp(made.data()) == nullptr) return Failed(made);
  std::unique_ptr<EngineFiles> files(new EngineFiles(made));
  const uint64_t rows = std::max<uint64_t>(bytes / kPackedBytes / std::size(kLayerIds), 1);
  files->checkpoint_.name = "bench";
  files->checkpoint_.geometry = GeometryOf(rows);
  files->checkpoint_.constants_digest = std::string(32, 'c');
  files->checkpoint_.model_digest = std::string(32, 'm');
  for (const uint32_t layer_id : kLayerIds) ENGRAM_RETURN_IF_ERROR(files->WriteLayer(layer_id, rows));
  return files;
}

EngineFiles::~EngineFiles() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

}  // namespace engram::bench
