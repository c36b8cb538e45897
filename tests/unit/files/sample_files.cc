#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

constexpr uint32_t kLayerIds[] = {1, 4};
constexpr uint64_t kRows[] = {462, 630};
constexpr uint32_t kHeadDim = 32;

nlohmann::json Entry(const char* dtype, const std::vector<uint64_t>& shape, size_t begin, size_t end) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

nlohmann::json SampleTokenizer() {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int i = 0; i < 62; ++i) vocabulary["a" + std::to_string(i)] = i;
  return {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}},
          {"added_tokens", {{{"id", 62}, {"content", "<b>"}}, {{"id", 63}, {"content", "<c>"}}}},
          {"decoder", {{"type", "ByteLevel"}}}};
}

}  // namespace

const std::vector<int64_t>& SamplePrimes() {
  static const std::vector<int64_t> primes = {67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113};
  return primes;
}

const std::vector<int64_t>& SampleMultipliers() {
  static const std::vector<int64_t> multipliers = {118650432209603643, 7493640653728489,   55676810147952557,
                                                   114555519428547269, 127364524771245009, 7800076361716407,
                                                   114038564133282483, 29348051253447937};
  return multipliers;
}

std::vector<int64_t> SampleTokenMap() {
  std::vector<int64_t> map(64);
  for (size_t i = 0; i < map.size(); ++i) map[i] = static_cast<int64_t>(i);
  return map;
}

std::string SampleCodes(uint32_t layer_id, uint64_t row) {
  std::string codes(kHeadDim, '\0');
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<char>((layer_id * 7 + row * 13 + i) % 127);
  return codes;
}

std::string SampleScales(uint32_t layer_id, uint64_t row) {
  return std::string(1, static_cast<char>(100 + (layer_id + row) % 50));
}

std::string SafetensorsBytes(const nlohmann::json& header, const std::string& data) {
  const std::string text = header.dump();
  return Le(static_cast<uint64_t>(text.size())) + text + data;
}

SampleFolder::SampleFolder() : tokenizer(SampleTokenizer()) {
  config = {{"engram_layer_ids", kLayerIds},
            {"engram_num_embeddings", kRows},
            {"engram_max_ngram_size", 4},
            {"engram_n_heads", 2},
            {"engram_head_dim", kHeadDim},
            {"engram_vocab_size", 64},
            {"engram_pad_id", 2},
            {"engram_compressed_vocab_size", 64},
            {"vocab_size", 64}};
  for (size_t layer = 0; layer < 2; ++layer) {
    const std::string name = "layers." + std::to_string(kLayerIds[layer]) + ".engram.embed.";
    size_t begin = data.size();
    for (uint64_t row = 0; row < kRows[layer]; ++row) data += SampleCodes(kLayerIds[layer], row);
    header[name + "weight"] = Entry("F8_E4M3", {kRows[layer], kHeadDim}, begin, data.size());
    begin = data.size();
    for (uint64_t row = 0; row < kRows[layer]; ++row) data += SampleScales(kLayerIds[layer], row);
    header[name + "scale"] = Entry("F8_E8M0", {kRows[layer], 1}, begin, data.size());
  }
  header["other.weight"] = {{"dtype", "F4_NEW"}, {"shape", {4}}, {"data_offsets", {0, 2}}};
}

std::string SampleFolder::Write(const TempFolder& folder) const {
  folder.Write("config.json", config.dump());
  folder.Write("model.safetensors", SafetensorsBytes(header, data));
  if (!tokenizer.is_null()) folder.Write("tokenizer.json", tokenizer.dump());
  if (!index.is_null()) folder.Write("model.safetensors.index.json", index.dump());
  for (const auto& [name, bytes] : other_files) folder.Write(name, bytes);
  return folder.path();
}

SampleConstants::SampleConstants() {
  tensors["token_map"] = {{64}, SampleTokenMap()};
  tensors["multipliers"] = {{2, 4}, SampleMultipliers()};
  tensors["primes"] = {{2, 3, 2}, SamplePrimes()};
}

std::string SampleConstants::Write(const TempFolder& folder) const {
  nlohmann::json header;
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const size_t begin = data.size();
    data += LeList<int64_t>(tensor.second);
    header[name] = Entry("I64", tensor.first, begin, data.size());
  }
  return folder.Write("constants.safetensors", SafetensorsBytes(header, data));
}

std::string GgufU32(uint32_t value) { return Le(uint32_t{4}) + Le(value); }
std::string GgufU64(uint64_t value) { return Le(uint32_t{10}) + Le(value); }

std::string GgufText(const std::string& text) {
  return Le(uint32_t{8}) + Le(static_cast<uint64_t>(text.size())) + text;
}

std::string GgufArray(uint32_t element_type, uint64_t count, const std::string& payload) {
  return Le(uint32_t{9}) + Le(element_type) + Le(count) + payload;
}

std::string GgufI64Array(const std::vector<int64_t>& values) {
  return GgufArray(11, values.size(), LeList<int64_t>(values));
}

SampleGguf::SampleGguf() {
  keys[Key("encoding")] = GgufText("e4m3_e8m0_32_row33");
  keys[Key("layer_ids")] = GgufArray(0, 2, LeList<uint8_t>({1, 4}));
  keys[Key("rows")] = GgufArray(3, 2, LeList<int16_t>({462, 630}));
  keys[Key("compressed_vocab_size")] = GgufU32(64);
  keys[Key("pad_id")] = GgufU64(2);
  keys[Key("token_map")] = GgufArray(5, 64, LeList<int32_t>(SampleTokenMap()));
  keys[Key("primes")] = GgufArray(2, 12, LeList<uint16_t>(SamplePrimes()));
  keys[Key("multipliers")] = GgufI64Array(SampleMultipliers());
  for (size_t layer = 0; layer < 2; ++layer) {
    data.resize((data.size() + 31) / 32 * 32);
    tensors.push_back({"blk." + std::to_string(kLayerIds[layer]) + ".engram_embd.weight",
                       {kHeadDim + 1, kRows[layer]},
                       24,
                       data.size()});
    for (uint64_t row = 0; row < kRows[layer]; ++row) {
      data += SampleCodes(kLayerIds[layer], row) + SampleScales(kLayerIds[layer], row);
    }
  }
}

std::string SampleGguf::Bytes() const {
  std::string bytes =
      Le(magic) + Le(version) + Le(tensor_count.value_or(tensors.size())) + Le(key_count.value_or(keys.size()));
  for (const auto& [key, value] : keys) bytes += Le(static_cast<uint64_t>(key.size())) + key + value;
  for (const Tensor& tensor : tensors) {
    bytes += Le(static_cast<uint64_t>(tensor.name.size())) + tensor.name;
    bytes += Le(static_cast<uint32_t>(tensor.dims.size()));
    for (const uint64_t dim : tensor.dims) bytes += Le(dim);
    bytes += Le(tensor.type) + Le(tensor.offset);
  }
  bytes.resize((bytes.size() + 31) / 32 * 32);
  return bytes + data;
}

std::string SampleGguf::Write(const TempFolder& folder, const std::string& name) const {
  return folder.Write(name, Bytes());
}

}  // namespace engram
