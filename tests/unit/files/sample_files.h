// A small valid model (layers 1 and 4, 462 and 630 rows of 32 codes) as a folder and as a GGUF, to be spoilt by tests.

#ifndef ENGRAM_TESTS_UNIT_FILES_SAMPLE_FILES_H_
#define ENGRAM_TESTS_UNIT_FILES_SAMPLE_FILES_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/files/temp_folder.h"

namespace engram {

template <typename T>
std::string Le(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
std::string LeList(const std::vector<int64_t>& values) {
  std::string bytes;
  for (const int64_t value : values) bytes += Le(static_cast<T>(value));
  return bytes;
}

// What the model is made of.
const std::vector<int64_t>& SamplePrimes();
const std::vector<int64_t>& SampleMultipliers();
std::vector<int64_t> SampleTokenMap();  // 64 ids, each its own class
std::string SampleCodes(uint32_t layer_id, uint64_t row);
std::string SampleScales(uint32_t layer_id, uint64_t row);

// A safetensors file from its parts; nothing is checked.
std::string SafetensorsBytes(const nlohmann::json& header, const std::string& data);

// The folder: change what is to be wrong, then Write.
struct SampleFolder {
  SampleFolder();

  nlohmann::json config;
  nlohmann::json tokenizer;  // null: no such file
  nlohmann::json header;     // of model.safetensors
  nlohmann::json index;      // null: no such file
  std::string data;
  std::map<std::string, std::string> other_files;

  std::string Write(const TempFolder& folder) const;  // returns the folder's path
};

// A safetensors file of constants; the I64 tensors by name.
struct SampleConstants {
  SampleConstants();
  std::map<std::string, std::pair<std::vector<uint64_t>, std::vector<int64_t>>> tensors;  // name -> shape, values
  std::string Write(const TempFolder& folder) const;
};

// Values of GGUF keys: type, then payload.
std::string GgufU32(uint32_t value);
std::string GgufU64(uint64_t value);
std::string GgufText(const std::string& text);
std::string GgufArray(uint32_t element_type, uint64_t count, const std::string& payload);
std::string GgufI64Array(const std::vector<int64_t>& values);

struct SampleGguf {
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;
    uint32_t type = 24;
    uint64_t offset = 0;
  };

  SampleGguf();  // with tables

  uint32_t magic = 0x46554747;
  uint32_t version = 3;
  std::optional<uint64_t> tensor_count;  // when another than the true one is to be written
  std::optional<uint64_t> key_count;
  std::map<std::string, std::string> keys;
  std::vector<Tensor> tensors;
  std::string data;

  std::string Key(const std::string& name) const { return prefix + name; }
  std::string prefix = "deepseek41.engram.";

  std::string Bytes() const;
  std::string Write(const TempFolder& folder, const std::string& name = "model.gguf") const;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_FILES_SAMPLE_FILES_H_
