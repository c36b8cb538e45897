#include "server/describe_model.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/digest.h"
#include "model/files/byte_level.h"
#include "server/answer_bytes.h"
#include "server/config.h"
#include "shard/engine.h"

namespace engram {
namespace {

constexpr int kRanksShown = 8;

v1::Geometry GeometryMessage(const Geometry& geometry) {
  v1::Geometry message;
  for (const uint32_t id : geometry.layer_ids) message.add_layer_ids(id);
  for (const uint64_t rows : geometry.rows) message.add_rows(rows);
  message.set_max_ngram_size(geometry.max_ngram_size);
  message.set_heads(geometry.heads);
  message.set_head_dim(geometry.head_dim);
  message.set_vocab_size(geometry.vocab_size);
  message.set_compressed_vocab_size(geometry.compressed_vocab_size);
  message.set_columns(geometry.columns());
  message.set_packed_row_bytes(geometry.packed_row_bytes());
  return message;
}

v1::Limits LimitsMessage(const v1::ServerConfig& config) {
  const v1::StreamLimits& streams = config.streams();
  v1::Limits limits;
  limits.set_steps_in_flight_max(streams.steps_in_flight_max());
  limits.set_bytes_in_flight_max(streams.bytes_in_flight_max());
  limits.set_segments_max(streams.segments_max());
  limits.set_step_tokens_max(streams.step_tokens_max());
  limits.set_lookup_tokens_max(streams.lookup_tokens_max());
  limits.set_frame_bytes_max(streams.frame_bytes_max());
  limits.set_session_tokens_max(config.sessions().tokens_max());
  return limits;
}

std::string LayerLine(const v1::Geometry& geometry, int layer, int ranks) {
  const uint64_t rows = geometry.rows(layer);
  std::string line = absl::StrCat("layer ", geometry.layer_ids(layer), ": ", rows, " rows of ",
                                  geometry.packed_row_bytes(), " bytes;");
  for (int rank = 0; rank < ranks; ++rank) {
    if (ranks > kRanksShown && rank == kRanksShown / 2) {
      absl::StrAppend(&line, " ...");
      rank = ranks - kRanksShown / 2;
    }
    const ShardRange range = ShardOf(rows, static_cast<size_t>(rank), static_cast<size_t>(ranks));
    absl::StrAppend(&line, " rank ", rank, " [", range.begin, ", ", range.end, ")");
  }
  return line;
}

// "DEVICE", or "layer 1 DEVICE, layer 14 HOST_PINNED" where layers differ.
std::string PlacementName(const EngineOptions& options, const Geometry& geometry) {
  const std::string first(NameOf(options.PlacementOf(0)));
  std::vector<std::string> names;
  bool same = true;
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    const std::string name(NameOf(options.PlacementOf(layer)));
    same = same && name == first;
    names.push_back(absl::StrCat("layer ", geometry.layer_ids[layer], " ", name));
  }
  return same ? first : absl::StrJoin(names, ", ");
}

// The compressed ids of the tokens in flight, and of the message that is read.
uint64_t StepBytesMax(const v1::StreamLimits& streams) {
  return (uint64_t{streams.steps_in_flight_max()} + 1) * streams.step_tokens_max() * sizeof(int32_t);
}

// Row buffers come in powers of two.
uint64_t ReplyBytesMax(const v1::ServerConfig& config) {
  const v1::StreamLimits& streams = config.streams();
  return 2 * (streams.unsent_bytes_max() + config.scheduling().round_bytes_max()) +
         AnswerBytesMax(streams.unsent_bytes_max(), streams.segments_max());
}

}  // namespace

std::string_view ServerVersion() { return ENGRAM_VERSION; }

v1::Model DescribeModel(const Checkpoint& checkpoint, const v1::ServerConfig& config, int ranks) {
  const EngineOptions options = EngineOptionsOf(config, checkpoint.geometry);
  v1::Model model;
  // A folder may be named by any bytes, a string of Protobuf by UTF-8 alone.
  model.set_name(config.model().name().empty() ? LossyUtf8(checkpoint.name) : config.model().name());
  *model.mutable_geometry() = GeometryMessage(checkpoint.geometry);
  model.set_constants_digest(checkpoint.constants_digest);
  model.set_model_digest(checkpoint.model_digest);
  model.set_table_version(1);
  *model.mutable_limits() = LimitsMessage(config);
  if (Serves(options.combine, RowForm::kPacked)) model.add_formats(v1::ROW_FORMAT_PACKED);
  if (Serves(options.combine, RowForm::kBf16)) model.add_formats(v1::ROW_FORMAT_BF16);
  model.add_formats(v1::ROW_FORMAT_HASH_IDS);
  for (const char* word : {"cancel", "fork", "lookback", "omit_masked_rows"}) model.add_capabilities(word);
  if (config.shared_memory().enabled()) model.add_capabilities("segment");
  model.add_capabilities("state");
  model.add_capabilities("unique_rows");
  model.set_server_version(std::string(ServerVersion()));
  model.set_ranks(static_cast<uint32_t>(ranks));
  model.set_combine(std::string(NameOf(options.combine)));
  model.set_placement(PlacementName(options, checkpoint.geometry));
  return model;
}

std::vector<std::string> DescribeForLog(const v1::Model& model, const v1::ServerConfig& config) {
  const v1::Geometry& geometry = model.geometry();
  std::vector<std::string> lines;
  lines.push_back(absl::StrCat("model ", model.name(), ": G=", geometry.max_ngram_size(), " H=", geometry.heads(),
                               " D=", geometry.head_dim(), " V=", geometry.vocab_size(),
                               " C=", geometry.compressed_vocab_size(), "; ", model.ranks(), " ranks, ",
                               model.combine(), ", ", model.placement()));
  lines.push_back(absl::StrCat("constants_digest ", HexOf(model.constants_digest())));
  lines.push_back(absl::StrCat("model_digest ", HexOf(model.model_digest())));
  for (int layer = 0; layer < geometry.layer_ids_size(); ++layer) {
    lines.push_back(LayerLine(geometry, layer, static_cast<int>(model.ranks())));
  }
  lines.push_back(absl::StrCat("memory beside the rows: histories <= ", config.sessions().history_bytes_max(),
                               " bytes; steps of a stream <= ", StepBytesMax(config.streams()),
                               " bytes and its replies <= ", ReplyBytesMax(config), " bytes, of at most ",
                               config.streams().streams_max(), " streams"));
  return lines;
}

}  // namespace engram
