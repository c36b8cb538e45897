#include "tests/golden/golden_case.h"

#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "nlohmann/json.hpp"

namespace engram {
namespace {

using nlohmann::json;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A safetensors file held whole.
class Tensors {
 public:
  explicit Tensors(const std::string& path) : path_(path), bytes_(ReadFile(path)) {
    uint64_t header_bytes = 0;
    if (bytes_.size() < sizeof(header_bytes)) throw std::runtime_error(path + " is too short");
    std::memcpy(&header_bytes, bytes_.data(), sizeof(header_bytes));
    if (header_bytes > bytes_.size() - 8) throw std::runtime_error(path + " has a broken header length");
    header_ = json::parse(bytes_.substr(8, header_bytes));
    data_ = 8 + header_bytes;
  }

  const json& header() const { return header_; }
  bool Has(const std::string& name) const { return header_.contains(name); }
  std::vector<uint64_t> Shape(const std::string& name) const { return Find(name).at("shape"); }

  // The whole tensor as values of T, whose size must be that of its dtype.
  template <typename T>
  std::vector<T> Read(const std::string& name, const std::string& dtype) const {
    const json& entry = Find(name);
    if (entry.at("dtype") != dtype) throw std::runtime_error(path_ + ": " + name + " is not " + dtype);
    const uint64_t begin = entry.at("data_offsets").at(0);
    const uint64_t end = entry.at("data_offsets").at(1);
    if (begin > end || end > bytes_.size() - data_) throw std::runtime_error(path_ + ": " + name + " leaves the file");
    std::vector<T> values((end - begin) / sizeof(T));
    std::memcpy(values.data(), bytes_.data() + data_ + begin, end - begin);
    return values;
  }

 private:
  const json& Find(const std::string& name) const {
    if (!Has(name)) throw std::runtime_error(path_ + " has no tensor " + name);
    return header_.at(name);
  }

  std::string path_;
  std::string bytes_;
  json header_;
  size_t data_ = 0;
};

template <typename To, typename From>
std::vector<std::vector<To>> Fold(const std::vector<From>& values, const std::vector<uint64_t>& shape) {
  std::vector<std::vector<To>> rows;
  for (uint64_t row = 0; row < shape.at(0); ++row) {
    const auto begin = values.begin() + static_cast<int64_t>(row * shape.at(1));
    rows.emplace_back(begin, begin + static_cast<int64_t>(shape.at(1)));
  }
  return rows;
}

template <typename To, typename From>
std::vector<To> Convert(const std::vector<From>& values) {
  std::vector<To> converted;
  for (const From value : values) converted.push_back(static_cast<To>(value));
  return converted;
}

Geometry GeometryOf(const json& config) {
  Geometry geometry;
  geometry.layer_ids = config.at("engram_layer_ids").get<std::vector<uint32_t>>();
  geometry.rows = config.at("engram_num_embeddings").get<std::vector<uint64_t>>();
  geometry.max_ngram_size = config.at("engram_max_ngram_size");
  geometry.heads = config.at("engram_n_heads");
  geometry.head_dim = config.at("engram_head_dim");
  geometry.vocab_size = config.at("vocab_size");
  geometry.compressed_vocab_size = config.at("engram_compressed_vocab_size");
  return geometry;
}

GoldenStep ReadStep(const Tensors& tensors, const Geometry& geometry, int index) {
  const std::string prefix = "step." + std::to_string(index) + ".";
  const std::vector<uint64_t> shape = tensors.Shape(prefix + "input_ids");
  GoldenStep step;
  step.start_pos = static_cast<uint64_t>(tensors.Read<int64_t>(prefix + "start_pos", "I64").at(0));
  step.input_ids = Fold<uint32_t>(Convert<uint32_t>(tensors.Read<int64_t>(prefix + "input_ids", "I64")), shape);
  const bool masked = tensors.Has(prefix + "token_mask");
  step.token_mask = Fold<uint8_t>(masked ? tensors.Read<uint8_t>(prefix + "token_mask", "BOOL")
                                         : std::vector<uint8_t>(shape.at(0) * shape.at(1), 1),
                                  shape);
  step.hash_ids = Convert<uint64_t>(tensors.Read<int64_t>(prefix + "hash_ids", "I64"));
  for (const uint32_t layer_id : geometry.layer_ids) {
    step.rows.push_back(tensors.Read<uint16_t>(prefix + "layers." + std::to_string(layer_id) + ".rows", "BF16"));
  }
  return step;
}

}  // namespace

std::string GoldenPath(const std::string& name) { return std::string(ENGRAM_GOLDEN_DATA) + "/" + name; }

GoldenCase LoadGoldenCase(const std::string& name) {
  const Tensors tensors(GoldenPath(name + ".safetensors"));
  const json config = json::parse(tensors.header().at("__metadata__").at("engram").get<std::string>());
  GoldenCase golden;
  golden.name = name;
  golden.geometry = GeometryOf(config);
  golden.engram_vocab_size = config.at("engram_vocab_size");
  golden.pad_token_id = config.at("engram_pad_id");
  golden.constants.token_map = Convert<int32_t>(tensors.Read<int64_t>("token_map", "I64"));
  golden.constants.pad_id = config.at("pad_id_compressed");
  golden.constants.multipliers = tensors.Read<int64_t>("multipliers", "I64");
  golden.constants.primes = tensors.Read<int64_t>("primes", "I64");
  golden.constants.offsets = tensors.Read<int64_t>("offsets", "I64");
  const int steps = config.at("steps");
  for (int i = 0; i < steps; ++i) golden.steps.push_back(ReadStep(tensors, golden.geometry, i));
  return golden;
}

std::vector<GoldenTable> LoadGoldenTables(const GoldenCase& golden) {
  const std::string folder = GoldenPath(golden.name + "_checkpoint/");
  const json index = json::parse(ReadFile(folder + "model.safetensors.index.json")).at("weight_map");
  std::vector<GoldenTable> tables;
  for (const uint32_t layer_id : golden.geometry.layer_ids) {
    const std::string prefix = "layers." + std::to_string(layer_id) + ".engram.embed.";
    const Tensors codes(folder + index.at(prefix + "weight").get<std::string>());
    const Tensors scales(folder + index.at(prefix + "scale").get<std::string>());
    tables.push_back(
        {codes.Read<uint8_t>(prefix + "weight", "F8_E4M3"), scales.Read<uint8_t>(prefix + "scale", "F8_E8M0")});
  }
  return tables;
}

}  // namespace engram
