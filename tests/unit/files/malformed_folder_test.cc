#include "model/files/checkpoint.h"
#include "tests/unit/files/malformed_case.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using enum absl::StatusCode;

using Case = MalformedCase<SampleFolder>;
class MalformedFolder : public testing::TestWithParam<Case> {};

TEST_P(MalformedFolder, IsRefusedByName) {
  SampleFolder sample;
  GetParam().spoil(sample);
  const TempFolder folder;
  ExpectRefused(OpenCheckpoint(sample.Write(folder), "").status(), GetParam().code, GetParam().named);
}

Case Missing(const std::string& key) {
  return Case{"no_" + key, [key](auto& s) { s.config.erase(key); }, kInvalidArgument, "key " + key};
}

INSTANTIATE_TEST_SUITE_P(
    Config, MalformedFolder,
    testing::Values(
        Missing("engram_layer_ids"), Missing("engram_num_embeddings"), Missing("engram_max_ngram_size"),
        Missing("engram_n_heads"), Missing("engram_head_dim"), Missing("engram_vocab_size"),
        Missing("engram_compressed_vocab_size"), Missing("vocab_size"),
        Case{"no_pad", [](auto& s) { s.config.erase("engram_pad_id"); }, kInvalidArgument,
             "key engram_pad_id or engram_pad_token_id is missing"},
        Case{"pad_spellings_conflict", [](auto& s) { s.config["engram_pad_token_id"] = 3; }, kInvalidArgument,
             "engram_pad_id is 2, but engram_pad_token_id is 3"},
        Case{"pad_conflicts_with_nested", [](auto& s) { s.config["text_config"]["engram_pad_token_id"] = 0; },
             kInvalidArgument, "text_config.engram_pad_token_id is 0, but engram_pad_id is 2"},
        Case{"key_conflicts_with_nested", [](auto& s) { s.config["text_config"]["engram_n_heads"] = 4; },
             kInvalidArgument, "text_config.engram_n_heads is 4, but engram_n_heads is 2"},
        Case{"pad_beyond_vocabulary", [](auto& s) { s.config["engram_pad_id"] = 64; }, kInvalidArgument,
             "(64), expected an integer in [0, 63]"},
        Case{"null_is_missing", [](auto& s) { s.config["engram_n_heads"] = nullptr; }, kInvalidArgument,
             "key engram_n_heads is missing"},
        Case{"heads_text", [](auto& s) { s.config["engram_n_heads"] = "2"; }, kInvalidArgument,
             "engram_n_heads is a string (\"2\"), expected an integer"},
        Case{"heads_fraction", [](auto& s) { s.config["engram_n_heads"] = 2.5; }, kInvalidArgument,
             "engram_n_heads is a fraction (2.5)"},
        Case{"heads_negative", [](auto& s) { s.config["engram_n_heads"] = -2; }, kInvalidArgument,
             "engram_n_heads is a number (-2)"},
        Case{"heads_wide", [](auto& s) { s.config["engram_n_heads"] = uint64_t{1} << 32; }, kInvalidArgument,
             "engram_n_heads is a number (4294967296), expected an integer in [1, 4294967295]"},
        Case{"head_dim_odd", [](auto& s) { s.config["engram_head_dim"] = 33; }, kInvalidArgument, "33"},
        Case{"layer_ids_number", [](auto& s) { s.config["engram_layer_ids"] = 1; }, kInvalidArgument,
             "engram_layer_ids is a number (1), expected an array"},
        Case{"layer_ids_of_text",
             [](auto& s) {
               s.config["engram_layer_ids"] = {1, "4"};
             },
             kInvalidArgument, "an element of engram_layer_ids is a string"},
        Case{"layers_many", [](auto& s) { s.config["engram_layer_ids"] = std::vector<int>(2000, 1); }, kInvalidArgument,
             "engram_layer_ids has 2000 elements"},
        Case{"rows_of_one_layer", [](auto& s) { s.config["engram_num_embeddings"] = {462}; }, kInvalidArgument, "1"},
        Case{"text_config_list", [](auto& s) { s.config["text_config"] = {1}; }, kInvalidArgument,
             "text_config is an array"},
        Case{"config_is_list", [](auto& s) { s.config = {1}; }, kInvalidArgument, "config.json: holds an array"},
        Case{"vocab_size_beyond_rows", [](auto& s) { s.config["engram_vocab_size"] = 80; }, kInvalidArgument,
             "engram_num_embeddings of layer 1 is 462, less than 6 primes from engram_vocab_size 80"},
        Case{"primes_do_not_add_up", [](auto& s) { s.config["engram_vocab_size"] = 50; }, kInvalidArgument,
             "primes of layer 1"}),
    CaseName<Case>);

INSTANTIATE_TEST_SUITE_P(
    Tokenizer, MalformedFolder,
    testing::Values(
        Case{"absent", [](auto& s) { s.tokenizer = nullptr; }, kFailedPrecondition, "--hash-constants"},
        Case{"id_missing", [](auto& s) { s.tokenizer["model"]["vocab"]["a17"] = 64; }, kInvalidArgument,
             "token id 17 is missing"},
        Case{"id_huge", [](auto& s) { s.tokenizer["model"]["vocab"]["a17"] = UINT64_MAX; }, kInvalidArgument,
             "token id 17 is missing"},
        Case{"id_twice", [](auto& s) { s.tokenizer["model"]["vocab"]["b"] = 17; }, kInvalidArgument,
             "token id 17 is given to"},
        Case{"added_id_twice", [](auto& s) { s.tokenizer["added_tokens"][0]["id"] = 61; }, kInvalidArgument,
             "token id 61 is given to \"a61\" and to \"<b>\""},
        Case{"id_negative", [](auto& s) { s.tokenizer["model"]["vocab"]["a17"] = -17; }, kInvalidArgument,
             "token \"a17\": its id is a number -17"},
        Case{"id_text", [](auto& s) { s.tokenizer["model"]["vocab"]["a17"] = "17"; }, kInvalidArgument,
             "token \"a17\": its id is a string"},
        Case{"no_model", [](auto& s) { s.tokenizer.erase("model"); }, kInvalidArgument, "model is missing"},
        Case{"vocab_list", [](auto& s) { s.tokenizer["model"]["vocab"] = {1}; }, kInvalidArgument,
             "model.vocab is missing or not"},
        Case{"added_tokens_object",
             [](auto& s) {
               s.tokenizer["added_tokens"] = {{"a", 1}};
             },
             kInvalidArgument, "added_tokens is not an array"},
        Case{"added_token_without_content", [](auto& s) { s.tokenizer["added_tokens"][1].erase("content"); },
             kInvalidArgument, "added_tokens: an entry"},
        Case{"no_decoder", [](auto& s) { s.tokenizer.erase("decoder"); }, kInvalidArgument, "decoder is missing"},
        Case{"other_decoder", [](auto& s) { s.tokenizer["decoder"]["type"] = "Metaspace"; }, kInvalidArgument,
             "decoder of type \"Metaspace\" is not supported"},
        Case{"decoder_sequence",
             [](auto& s) {
               s.tokenizer["decoder"] = {{"type", "Sequence"},
                                         {"decoders", {{{"type", "ByteLevel"}}, {{"type", "Strip"}}}}};
             },
             kInvalidArgument, "decoder of type \"Sequence\" is not supported"},
        Case{"fewer_tokens_than_vocab_size", [](auto& s) { s.tokenizer["added_tokens"].erase(1); }, kFailedPrecondition,
             "has 63 token ids, but vocab_size of config.json is 64"},
        Case{"other_class_count",
             [](auto& s) {
               s.tokenizer["model"]["vocab"].erase("a17");
               s.tokenizer["model"]["vocab"]["A16"] = 17;
             },
             kFailedPrecondition, "folds into 63 classes, but engram_compressed_vocab_size of config.json is 64"}),
    CaseName<Case>);

// A folder that is right by itself, with a file of constants that is not.
using ConstantsCase = MalformedCase<SampleConstants>;
class MalformedConstants : public testing::TestWithParam<ConstantsCase> {};

TEST_P(MalformedConstants, AreRefusedByName) {
  SampleConstants sample;
  GetParam().spoil(sample);
  const TempFolder folder;
  const std::string path = SampleFolder().Write(folder);
  ExpectRefused(OpenCheckpoint(path, sample.Write(folder)).status(), GetParam().code, GetParam().named);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MalformedConstants,
    testing::Values(ConstantsCase{"token_map_differs", [](auto& s) { s.tensors["token_map"].second[9] = 10; },
                                  kFailedPrecondition, "token_map[9] is 10 in "},
                    ConstantsCase{"multiplier_differs", [](auto& s) { s.tensors["multipliers"].second[5] -= 2; },
                                  kFailedPrecondition, "multipliers[5] is 7800076361716405 in "},
                    ConstantsCase{
                        "primes_differ",
                        [](auto& s) { std::swap(s.tensors["primes"].second[0], s.tensors["primes"].second[1]); },
                        kFailedPrecondition, "primes[0] is 71 in "},
                    ConstantsCase{"pad_differs",
                                  [](auto& s) {
                                    s.tensors["pad_id"] = {{1}, {3}};
                                  },
                                  kFailedPrecondition, "pad_id is 3, but token_map of the pad token 2 is 2"},
                    ConstantsCase{"pad_of_two",
                                  [](auto& s) {
                                    s.tensors["pad_id"] = {{2}, {2, 2}};
                                  },
                                  kInvalidArgument, "tensor pad_id has 2 elements"},
                    ConstantsCase{"token_map_out_of_range", [](auto& s) { s.tensors["token_map"].second[9] = 1 << 20; },
                                  kInvalidArgument, "token_map[9] is 1048576, not in [0, 64)"},
                    ConstantsCase{"token_map_wraps_32_bits",
                                  [](auto& s) { s.tensors["token_map"].second[9] = (int64_t{1} << 32) + 9; },
                                  kInvalidArgument, "token_map[9] is 4294967305"},
                    ConstantsCase{"token_map_short",
                                  [](auto& s) {
                                    s.tensors["token_map"] = {{2}, {0, 1}};
                                  },
                                  kInvalidArgument, "token_map has 2 elements, the geometry needs 64"},
                    ConstantsCase{"no_primes", [](auto& s) { s.tensors.erase("primes"); }, kInvalidArgument,
                                  "tensor primes is missing"},
                    ConstantsCase{"no_token_map", [](auto& s) { s.tensors.erase("token_map"); }, kInvalidArgument,
                                  "tensor token_map is missing"},
                    ConstantsCase{"transposed",
                                  [](auto& s) {
                                    s.tensors["primes"].first = {3, 2, 2};
                                  },
                                  kInvalidArgument, "tensor primes is of 3 layers"},
                    ConstantsCase{"offsets_are_no_sums",
                                  [](auto& s) {
                                    s.tensors["offsets"] = {{2, 6}, std::vector<int64_t>(12)};
                                  },
                                  kInvalidArgument, "offsets"}),
    CaseName<ConstantsCase>);

TEST(MissingFiles, AreNamed) {
  const TempFolder folder;
  ExpectRefused(OpenCheckpoint(folder.Path("nothing"), "").status(), kNotFound, "nothing: cannot open");
  ExpectRefused(OpenCheckpoint(folder.path(), "").status(), kNotFound, "config.json");
  folder.Write("config.json", SampleFolder().config.dump());
  ExpectRefused(OpenCheckpoint(folder.path(), "").status(), kNotFound,
                "has neither model.safetensors.index.json nor model.safetensors");
  SampleFolder().Write(folder);
  ExpectRefused(OpenCheckpoint(folder.path(), folder.Path("none.gguf")).status(), kNotFound, "none.gguf");
}

}  // namespace
}  // namespace engram
