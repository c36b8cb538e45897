#include "server/config.h"

#include <algorithm>

#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace engram {
namespace {

constexpr size_t kConfigBytesMax = size_t{1} << 20;
constexpr size_t kFaultsShown = 3;

// Gathers the parser's complaints as "source:line:column: what", counted from 1 as editors do.
class FaultCollector : public google::protobuf::io::ErrorCollector {
 public:
  explicit FaultCollector(const std::string& source) : source_(source) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (faults_.size() < kFaultsShown) faults_.push_back(Located(line, column, message));
  }
  // A warning is a deprecated field or the like; whoever wrote the file should hear of it as well.
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    AddError(line, column, message);
  }

  const std::vector<std::string>& faults() const { return faults_; }

 private:
  std::string Located(int line, int column, const std::string& message) const {
    if (line < 0) return absl::StrCat(source_, ": ", message);
    return absl::StrCat(source_, ":", line + 1, ":", column + 1, ": ", message);
  }

  const std::string& source_;
  std::vector<std::string> faults_;
};

}  // namespace

absl::StatusOr<v1::ServerConfig> ParseConfig(const std::string& text, const std::string& source) {
  if (text.size() > kConfigBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", text.size(), " bytes: a configuration has at most ", kConfigBytesMax));
  }
  v1::ServerConfig config;
  FaultCollector collector(source);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  const bool parsed = parser.ParseFromString(text, &config);
  if (!parsed || !collector.faults().empty()) {
    return absl::InvalidArgumentError(collector.faults().empty() ? absl::StrCat(source, ": cannot be parsed")
                                                                 : absl::StrJoin(collector.faults(), "; "));
  }
  return config;
}

absl::StatusOr<v1::ServerConfig> LoadConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kConfigBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A folder opens but does not read; a short read at the end of the file is the ordinary case.
  if (file.bad() || !file.eof()) {
    if (file.good()) return absl::InvalidArgumentError(absl::StrCat(path, ": more than ", kConfigBytesMax, " bytes"));
    return absl::NotFoundError(absl::StrCat(path, ": the configuration file cannot be read"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return ParseConfig(text, path);
}

std::string PrintConfig(const v1::ServerConfig& config) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return text;
}

SessionLimits SessionLimitsOf(const v1::ServerConfig& config) {
  SessionLimits limits;
  limits.history_bytes_max = config.sessions().history_bytes_max();
  limits.tokens_max = config.sessions().tokens_max();
  limits.sessions_max = config.sessions().sessions_max();
  limits.client_share_percent = config.sessions().client_share_percent();
  return limits;
}

namespace {

constexpr uint64_t kReplyBytesLeast = uint64_t{64} << 20;

CombineMode CombineOf(v1::CombineMode mode) {
  switch (mode) {
    case v1::ALL_REDUCE_BF16:
      return CombineMode::kAllReduceBf16;
    case v1::ALL_REDUCE_PACKED:
      return CombineMode::kAllReducePacked;
    default:
      return CombineMode::kOwnerGather;
  }
}

RepeatedRows RepeatedRowsOf(v1::RepeatedRows repeated) {
  if (repeated == v1::GATHER_ONCE) return RepeatedRows::kOnce;
  return repeated == v1::GATHER_EACH ? RepeatedRows::kEach : RepeatedRows::kDefault;
}

Placement PlacementOf(v1::Placement placement) {
  switch (placement) {
    case v1::HOST:
      return Placement::kHost;
    case v1::DEVICE:
      return Placement::kDevice;
    case v1::HOST_PINNED:
      return Placement::kHostPinned;
    default:
      return Placement::kMapped;
  }
}

}  // namespace

SegmentRules SegmentRulesOf(const v1::ServerConfig& config) {
  const v1::SharedMemory& memory = config.shared_memory();
  return {memory.enabled(),
          memory.segment_bytes_max(),
          memory.segments_max(),
          memory.name_prefix(),
          {memory.owner_uids().begin(), memory.owner_uids().end()}};
}

EngineOptions EngineOptionsOf(const v1::ServerConfig& config, const Geometry& geometry) {
  const v1::Sharding& sharding = config.sharding();
  EngineOptions options;
  options.combine = CombineOf(sharding.combine());
  options.placement = PlacementOf(sharding.placement());
  options.repeated_rows = RepeatedRowsOf(sharding.repeated_rows());
  options.layer_placements.assign(geometry.layers(), options.placement);
  for (const v1::LayerPlacement& layer : sharding.layer_placements()) {
    const auto found = std::find(geometry.layer_ids.begin(), geometry.layer_ids.end(), layer.layer());
    if (found == geometry.layer_ids.end()) continue;  // ValidateForModel refuses it
    options.layer_placements[static_cast<size_t>(found - geometry.layer_ids.begin())] = PlacementOf(layer.placement());
  }
  // The packed row is the smallest form, so no round within round_bytes_max has more rows than this.
  options.round_rows_max = config.scheduling().round_bytes_max() / geometry.packed_row_bytes();
  // Two rounds in flight and as much on its way out. Replies beyond it, to clients that read slowly, lie elsewhere.
  options.reply_bytes = std::max(kReplyBytesLeast, 4 * config.scheduling().round_bytes_max());
  options.gather_threads = static_cast<int>(sharding.gather_threads());  // 0 where it is absent: the rank decides
  options.round_timeout = absl::Milliseconds(sharding.round_timeout_ms());
  options.heartbeat = absl::Milliseconds(sharding.heartbeat_ms());
  options.load_timeout = absl::Milliseconds(sharding.load_timeout_ms());
  return options;
}

}  // namespace engram
