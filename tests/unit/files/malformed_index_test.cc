#include "model/files/checkpoint.h"
#include "tests/unit/files/malformed_case.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using enum absl::StatusCode;

using Case = MalformedCase<SampleFolder>;
class MalformedIndex : public testing::TestWithParam<Case> {};

TEST_P(MalformedIndex, IsRefusedByName) {
  SampleFolder sample;
  GetParam().spoil(sample);
  const TempFolder folder;
  ExpectRefused(OpenCheckpoint(sample.Write(folder), "").status(), GetParam().code, GetParam().named);
}

// All tensors of model.safetensors, listed by an index.
nlohmann::json IndexOf(const SampleFolder& sample) {
  nlohmann::json index;
  for (const auto& [name, entry] : sample.header.items()) index["weight_map"][name] = "model.safetensors";
  return index;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MalformedIndex,
    testing::Values(Case{"tensor_not_listed",
                         [](auto& s) {
                           s.index = IndexOf(s);
                           s.index["weight_map"].erase("layers.4.engram.embed.weight");
                         },
                         kNotFound, "has no tensor layers.4.engram.embed.weight"},
                    Case{"shard_missing",
                         [](auto& s) {
                           s.index = IndexOf(s);
                           s.index["weight_map"]["layers.4.engram.embed.weight"] = "model-00009.safetensors";
                         },
                         kNotFound, "tensor layers.4.engram.embed.weight"},
                    Case{"shard_lacks_listed_tensor",
                         [](auto& s) {
                           s.index = IndexOf(s);
                           s.header.erase("layers.1.engram.embed.scale");
                         },
                         kNotFound, "model.safetensors: has no tensor layers.1.engram.embed.scale"},
                    Case{"parent_folder",
                         [](auto& s) {
                           s.index = IndexOf(s);
                           s.index["weight_map"]["layers.1.engram.embed.weight"] = "a/../../model.safetensors";
                         },
                         kInvalidArgument,
                         "weight_map of layers.1.engram.embed.weight is \"a/../../model.safetensors\""},
                    Case{"absolute_path",
                         [](auto& s) {
                           s.index = IndexOf(s);
                           s.index["weight_map"]["other.weight"] = "/etc/passwd";
                         },
                         kInvalidArgument, "weight_map of other.weight is \"/etc/passwd\""},
                    Case{"file_name_is_number",
                         [](auto& s) {
                           s.index = IndexOf(s);
                           s.index["weight_map"]["other.weight"] = 7;
                         },
                         kInvalidArgument, "weight_map of other.weight is a number"},
                    Case{"no_weight_map",
                         [](auto& s) {
                           s.index = {{"metadata", 1}};
                         },
                         kInvalidArgument, "weight_map is missing"},
                    Case{"empty_weight_map", [](auto& s) { s.index["weight_map"] = nlohmann::json::object(); },
                         kInvalidArgument, "weight_map is empty"},
                    Case{"index_nests_deep",
                         [](auto& s) { s.other_files["model.safetensors.index.json"] = std::string(100000, '['); },
                         kInvalidArgument, "nests 100000 deep"},
                    Case{"index_is_no_json",
                         [](auto& s) { s.other_files["model.safetensors.index.json"] = "{\"weight_map\""; },
                         kInvalidArgument, "model.safetensors.index.json: is not JSON"},
                    Case{"tensor_in_two_shards",
                         [](auto& s) {
                           s.other_files["model.safetensors.index.json"] =
                               R"({"weight_map": {"a": "1.safetensors", "b": "1.safetensors", "a": "2.safetensors"}})";
                         },
                         kInvalidArgument, "model.safetensors.index.json: key \"a\" occurs twice"}),
    CaseName<Case>);

}  // namespace
}  // namespace engram
