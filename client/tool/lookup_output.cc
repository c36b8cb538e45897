#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/tool/lookup.h"
#include "client/tool/report.h"
#include "model/digest.h"
#include "model/files/safetensors_writer.h"

namespace engram {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShownBytes = 16;  // of a row, in the table

std::vector<uint8_t> WholeMask(const LookupPlan& plan) {
  std::vector<uint8_t> mask = plan.mask;
  mask.resize(plan.tokens.size(), 1);
  return mask;
}

std::string_view RowOf(const LookedUpLayer& layer, size_t index) {
  const size_t row_bytes = layer.rows.size() / layer.hash_ids.size();
  return std::string_view(layer.rows).substr(index * row_bytes, row_bytes);
}

Json JsonOf(const LookedUpLayer& layer, uint32_t columns) {
  Json ids = Json::array();
  Json rows = Json::array();
  for (size_t token = 0; token < layer.hash_ids.size() / columns; ++token) {
    Json token_ids = Json::array();
    Json token_rows = Json::array();
    for (size_t i = token * columns; i < (token + 1) * columns; ++i) {
      token_ids.push_back(layer.hash_ids[i]);
      if (!layer.rows.empty()) token_rows.push_back(HexOf(RowOf(layer, i)));
    }
    ids.push_back(std::move(token_ids));
    if (!layer.rows.empty()) rows.push_back(std::move(token_rows));
  }
  Json json = {{"layer", layer.layer}, {"hash_ids", std::move(ids)}};
  if (!layer.rows.empty()) json["rows_hex"] = std::move(rows);
  return json;
}

template <typename T>
std::string_view BytesOf(const std::vector<T>& values) {
  return std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::map<std::string, std::string> MetadataOf(const Connection& connection, const LookupPlan& plan) {
  const v1::Model& model = connection.model();
  const Geometry& geometry = connection.geometry();
  const Json shape = {{"layer_ids", geometry.layer_ids},
                      {"rows", geometry.rows},
                      {"max_ngram_size", geometry.max_ngram_size},
                      {"heads", geometry.heads},
                      {"head_dim", geometry.head_dim},
                      {"vocab_size", geometry.vocab_size},
                      {"compressed_vocab_size", geometry.compressed_vocab_size}};
  return {{"geometry", shape.dump()},
          {"constants_digest", HexOf(model.constants_digest())},
          {"model_digest", HexOf(model.model_digest())},
          {"model_name", Json(model.name()).dump(-1, ' ', true, Json::error_handler_t::replace)},
          {"format", NameOfFormat(plan.format)},
          {"start_pos", absl::StrCat(plan.start_pos)},
          {"lookback", Json(plan.lookback).dump()}};
}

}  // namespace

std::string LookupAsText(const Connection& connection, const LookupPlan& plan,
                         const std::vector<LookedUpLayer>& layers) {
  const uint32_t columns = connection.geometry().columns();
  const std::vector<uint8_t> mask = WholeMask(plan);
  std::string text = absl::StrFormat("%10s %10s %4s %5s %6s %12s  %s\n", "position", "token", "mask", "layer", "column",
                                     "row", plan.format == v1::ROW_FORMAT_HASH_IDS ? "" : "first bytes");
  for (const LookedUpLayer& layer : layers) {
    for (size_t i = 0; i < layer.hash_ids.size(); ++i) {
      const size_t token = i / columns;
      const std::string row = layer.rows.empty() ? "" : HexOf(RowOf(layer, i).substr(0, kShownBytes));
      absl::StrAppendFormat(&text, "%10d %10d %4d %5d %6d %12d  %s\n", plan.start_pos + token, plan.tokens[token],
                            mask[token], layer.layer, i % columns, layer.hash_ids[i], row);
    }
  }
  return text;
}

std::string LookupAsJson(const Connection& connection, const LookupPlan& plan,
                         const std::vector<LookedUpLayer>& layers) {
  Json json = {{"model", connection.model().name()},
               {"model_digest", HexOf(connection.model().model_digest())},
               {"format", NameOfFormat(plan.format)},
               {"start_pos", plan.start_pos},
               {"tokens", plan.tokens},
               {"token_mask", WholeMask(plan)},
               {"layers", Json::array()}};
  for (const LookedUpLayer& layer : layers) json["layers"].push_back(JsonOf(layer, connection.geometry().columns()));
  return absl::StrCat(json.dump(1, ' ', false, Json::error_handler_t::replace), "\n");
}

absl::Status LookupToSafetensors(const Connection& connection, const LookupPlan& plan,
                                 const std::vector<LookedUpLayer>& layers, const std::string& path) {
  const Geometry& geometry = connection.geometry();
  const uint64_t tokens = plan.tokens.size();
  const bool packed = plan.format == v1::ROW_FORMAT_PACKED;
  const std::vector<int64_t> ids(plan.tokens.begin(), plan.tokens.end());
  const std::vector<uint8_t> mask = WholeMask(plan);
  std::vector<SafetensorsSpec> specs = {{"tokens", "I64", {tokens}}, {"token_mask", "U8", {tokens}}};
  std::vector<std::string_view> bytes = {BytesOf(ids), BytesOf(mask)};
  for (const LookedUpLayer& layer : layers) {
    // Row ids are below 2^48, so that signed and unsigned words are the same bytes.
    specs.push_back({absl::StrCat("layers.", layer.layer, ".hash_ids"), "I64", {tokens, geometry.columns()}});
    bytes.push_back(BytesOf(layer.hash_ids));
    if (layer.rows.empty()) continue;
    specs.push_back({absl::StrCat("layers.", layer.layer, ".rows"),
                     packed ? "U8" : "BF16",
                     {tokens, geometry.columns(), packed ? geometry.packed_row_bytes() : geometry.head_dim}});
    bytes.push_back(layer.rows);
  }
  return WriteSafetensors(path, specs, bytes, MetadataOf(connection, plan));
}

}  // namespace engram
