#include "client/tool/synth.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/tool/synth_config.h"
#include "client/tool/synth_files.h"
#include "client/tool/synth_folder.h"
#include "client/tool/synth_layout.h"
#include "client/tool/synth_rows.h"
#include "client/tool/synth_sequences.h"
#include "client/tool/synth_tokenizer.h"

namespace engram {
namespace {

constexpr uint64_t kSpareBytes = 64 << 20;  // for the file system's own records

// The small files but for the index, which is written last.
absl::Status WriteSmallFiles(const SynthOptions& options, const SynthConfig& config,
                             const std::string& sequence_lines) {
  const nlohmann::json note = {
      {"format", 1},
      {"seed", options.seed},
      {"sparse", options.sparse},
      {"sequences", sequence_lines.empty() ? nlohmann::json(nullptr) : nlohmann::json(kSynthSequences)}};
  absl::StatusOr<std::string> tokenizer = SynthTokenizerJson(config.engram);
  if (!tokenizer.ok()) return tokenizer.status();
  absl::Status status = WriteWholeFile(absl::StrCat(options.folder, "/", kSynthNote), note.dump(1));
  if (status.ok()) status = WriteWholeFile(absl::StrCat(options.folder, "/config.json"), config.json);
  if (status.ok()) status = WriteWholeFile(absl::StrCat(options.folder, "/tokenizer.json"), *tokenizer);
  if (status.ok() && !sequence_lines.empty())
    status = WriteWholeFile(absl::StrCat(options.folder, "/", kSynthSequences), sequence_lines);
  return status;
}

// `reached` is empty for a dense checkpoint.
absl::Status CheckRoom(const SynthOptions& options, const SynthLayout& layout, const Geometry& geometry,
                       const std::vector<std::vector<uint64_t>>& reached) {
  const absl::StatusOr<SpaceOnDisk> space = SpaceOf(options.folder);
  if (!space.ok()) return space.status();
  uint64_t needed = kSpareBytes;
  if (!options.sparse) needed += layout.bytes();
  for (size_t l = 0; l < reached.size(); ++l) {
    const SynthTable& table = layout.tables[l];
    needed +=
        space->block_bytes * (BlocksTouched(reached[l], table.codes_offset, geometry.head_dim, space->block_bytes) +
                              BlocksTouched(reached[l], table.scales_offset, geometry.scales(), space->block_bytes));
  }
  if (needed <= space->free_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(options.folder, " has ", space->free_bytes, " bytes free; the checkpoint takes up to ", needed));
}

absl::StatusOr<std::vector<OutputFile>> MakeShards(const SynthOptions& options, const SynthLayout& layout) {
  std::vector<OutputFile> files;
  for (const SynthShard& shard : layout.shards) {
    absl::StatusOr<OutputFile> file = OutputFile::Create(absl::StrCat(options.folder, "/", shard.file_name));
    if (!file.ok()) return file.status();
    if (absl::Status status = file->Resize(shard.bytes); !status.ok()) return status;
    if (absl::Status status = file->WriteAt(0, shard.header); !status.ok()) return status;
    for (const SynthTensor& tensor : shard.tensors) {
      if (absl::Status status = file->WriteAt(tensor.offset, tensor.content); !status.ok()) return status;
    }
    files.push_back(*std::move(file));
  }
  return files;
}

absl::Status WriteTables(const SynthOptions& options, const SynthLayout& layout, const Geometry& geometry,
                         const std::vector<std::vector<uint64_t>>& reached, std::vector<OutputFile>& files) {
  for (size_t l = 0; l < geometry.layers(); ++l) {
    const SynthTable& table = layout.tables[l];
    const SynthTableTarget target{files[table.codes_shard],  table.codes_offset,
                                  files[table.scales_shard], table.scales_offset,
                                  geometry.head_dim,         SynthLayerKey(options.seed, geometry.layer_ids[l])};
    const absl::Status status =
        options.sparse ? WriteSomeRows(target, reached[l]) : WriteAllRows(target, geometry.rows[l]);
    if (!status.ok()) return status;
  }
  for (OutputFile& file : files) {
    if (absl::Status status = file.Close(); !status.ok()) return status;
  }
  return WriteWholeFile(absl::StrCat(options.folder, "/", kSynthIndex), layout.IndexJson());
}

// What a server would make of it must be what was meant.
absl::Status CheckResult(const SynthOptions& options, const SynthConfig& config) {
  const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(options.folder, "");
  if (!checkpoint.ok()) return checkpoint.status();
  if (checkpoint->geometry == config.engram.geometry && checkpoint->constants == config.constants)
    return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(options.folder, " reads back with other geometry or hash constants than it was made with"));
}

absl::StatusOr<SynthReport> ReportOf(const SynthOptions& options, const SynthLayout& layout, const Geometry& geometry,
                                     const std::vector<std::vector<uint64_t>>& reached) {
  SynthReport report;
  report.rows = std::accumulate(geometry.rows.begin(), geometry.rows.end(), uint64_t{0});
  report.rows_written = options.sparse ? 0 : report.rows;
  for (const std::vector<uint64_t>& rows : reached) report.rows_written += rows.size();
  report.apparent_bytes = layout.bytes();
  for (const SynthShard& shard : layout.shards) {
    const absl::StatusOr<uint64_t> bytes = DiskBytes(absl::StrCat(options.folder, "/", shard.file_name));
    if (!bytes.ok()) return bytes.status();
    report.disk_bytes += *bytes;
  }
  return report;
}

absl::Status CheckOptions(const SynthOptions& options) {
  if (options.shard_files < 1 || options.shard_files > kSynthShardFilesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shards-files is ", options.shard_files, "; it must be from 1 to ", kSynthShardFilesMax));
  }
  if (options.sparse && options.token_paths.empty()) {
    return absl::InvalidArgumentError("--sparse needs --tokens: only the rows that those sequences reach are written");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SynthReport> WriteSynth(const SynthOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const absl::StatusOr<SynthConfig> config = LoadSynthConfig(options.config_path, options.derive_rows);
  if (!config.ok()) return config.status();
  const Geometry& geometry = config->engram.geometry;
  const SynthLayout layout = PlanSynthLayout(geometry, config->projection, options.seed, options.shard_files);

  absl::StatusOr<SynthSequences> sequences = SynthSequences{};
  std::vector<std::vector<uint64_t>> reached;
  if (!options.token_paths.empty()) {
    sequences = ReadSynthSequences(options.token_paths, geometry, config->constants.token_map);
    if (!sequences.ok()) return sequences.status();
    if (options.sparse) reached = RowsReached(geometry, config->constants, *sequences);
  }
  const absl::StatusOr<std::unique_ptr<SynthFolder>> folder = SynthFolder::Prepare(options.folder, options.force);
  if (!folder.ok()) return folder.status();
  absl::Status status = options.sparse ? CheckHoles(options.folder) : absl::OkStatus();
  if (status.ok()) status = CheckRoom(options, layout, geometry, reached);
  if (status.ok()) status = WriteSmallFiles(options, *config, sequences->lines);
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<OutputFile>> files = MakeShards(options, layout);
  if (!files.ok()) return files.status();
  status = WriteTables(options, layout, geometry, reached, *files);
  if (status.ok()) status = CheckResult(options, *config);
  if (!status.ok()) return status;
  (*folder)->Keep();
  return ReportOf(options, layout, geometry, reached);
}

}  // namespace engram
