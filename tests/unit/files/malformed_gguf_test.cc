#include "model/files/checkpoint.h"
#include "tests/unit/files/malformed_case.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using enum absl::StatusCode;

using Case = MalformedCase<SampleGguf>;
class MalformedGguf : public testing::TestWithParam<Case> {};

TEST_P(MalformedGguf, IsRefusedByName) {
  SampleGguf sample;
  GetParam().spoil(sample);
  const TempFolder folder;
  ExpectRefused(OpenCheckpoint(sample.Write(folder), "").status(), GetParam().code, GetParam().named);
}

constexpr uint64_t kHuge = uint64_t{1} << 60;

INSTANTIATE_TEST_SUITE_P(
    Header, MalformedGguf,
    testing::Values(
        Case{"magic", [](auto& s) { s.magic = 0x46554748; }, kInvalidArgument, "magic GGUF"},
        Case{"version_2", [](auto& s) { s.version = 2; }, kInvalidArgument, "version is 2"},
        Case{"version_swapped", [](auto& s) { s.version = 0x03000000; }, kInvalidArgument, "version is 50331648"},
        Case{"key_count_huge", [](auto& s) { s.key_count = kHuge; }, kInvalidArgument,
             "metadata_kv_count is 1152921504606846976"},
        Case{"key_count_beyond_file", [](auto& s) { s.key_count = 65000; }, kInvalidArgument, "the length of key"},
        Case{"tensor_count_huge", [](auto& s) { s.tensor_count = kHuge; }, kInvalidArgument,
             "tensor_count is 1152921504606846976"},
        Case{"string_huge", [](auto& s) { s.keys["a.text"] = Le(uint32_t{8}) + Le(kHuge); }, kDataLoss,
             "key a.text: string"},
        Case{"array_count_huge", [](auto& s) { s.keys["a.list"] = GgufArray(11, kHuge, ""); }, kDataLoss,
             "key a.list: array of 1152921504606846976 elements"},
        Case{"array_bytes_wrap", [](auto& s) { s.keys["a.list"] = GgufArray(10, 20000, ""); }, kDataLoss, "key a.list"},
        Case{"value_type_unknown", [](auto& s) { s.keys["a.value"] = Le(uint32_t{13}) + "0000"; }, kInvalidArgument,
             "key a.value: value type 13 is not known"},
        Case{"arrays_nest_deep",
             [](auto& s) {
               std::string inner = GgufArray(0, 1, "x").substr(4);
               for (int i = 0; i < 5; ++i) inner = GgufArray(9, 1, inner).substr(4);
               s.keys["a.list"] = Le(uint32_t{9}) + inner;
             },
             kInvalidArgument, "key a.list: arrays nest deeper than 3"},
        Case{"alignment_0", [](auto& s) { s.keys["general.alignment"] = GgufU32(0); }, kInvalidArgument,
             "general.alignment is 0"},
        Case{"alignment_24", [](auto& s) { s.keys["general.alignment"] = GgufU32(24); }, kInvalidArgument,
             "general.alignment is 24"},
        Case{"alignment_huge", [](auto& s) { s.keys["general.alignment"] = GgufU32(1u << 31); }, kInvalidArgument,
             "general.alignment is 2147483648"},
        Case{"n_dims",
             [](auto& s) {
               s.tensors[0].dims = {33, 462, 1, 1, 1};
             },
             kInvalidArgument, "tensor blk.1.engram_embd.weight: n_dims is 5"},
        Case{"dims_wrap",
             [](auto& s) {
               s.tensors[0].dims = {33, kHuge * 15};
             },
             kInvalidArgument, "tensor blk.1.engram_embd.weight: product of dims overflows"},
        Case{"tensor_twice", [](auto& s) { s.tensors.push_back(s.tensors[0]); }, kInvalidArgument,
             "tensor blk.1.engram_embd.weight occurs twice"},
        Case{"tensor_offset_wraps", [](auto& s) { s.tensors[0].offset = UINT64_MAX; }, kInvalidArgument,
             "tensor blk.1.engram_embd.weight: offset 18446744073709551615 overflows"},
        Case{"tensor_name_long", [](auto& s) { s.tensors[1].name.assign(5000, 'x'); }, kInvalidArgument,
             "the length of the name of tensor 1 is 5000"}),
    CaseName<Case>);

INSTANTIATE_TEST_SUITE_P(
    Tables, MalformedGguf,
    testing::Values(Case{"truncated", [](auto& s) { s.data.pop_back(); }, kDataLoss,
                         "tensor blk.4.engram_embd.weight: dims [33, 630]"},
                    Case{"tensor_missing", [](auto& s) { s.tensors.pop_back(); }, kNotFound,
                         "has no tensor blk.4.engram_embd.weight"},
                    Case{"tensor_type", [](auto& s) { s.tensors[1].type = 0; }, kInvalidArgument,
                         "tensor blk.4.engram_embd.weight: type is 0, expected 24"},
                    Case{"dims_of_no_row",
                         [](auto& s) {
                           s.tensors[0].dims = {32, 462};
                         },
                         kInvalidArgument, "tensor blk.1.engram_embd.weight: has 2 dims, the first 32"},
                    Case{"one_dim", [](auto& s) { s.tensors[0].dims = {33}; }, kInvalidArgument,
                         "tensor blk.1.engram_embd.weight: has 1 dims"},
                    Case{"rows_differ",
                         [](auto& s) {
                           s.tensors[1].dims = {33, 629};
                         },
                         kInvalidArgument, "dims are [33, 629], expected [33, 630]"},
                    Case{"tables_overlap", [](auto& s) { s.tensors[1].offset = s.tensors[0].offset + 462 * 33 - 1; },
                         kInvalidArgument, "overlap"},
                    Case{"encoding", [](auto& s) { s.keys[s.Key("encoding")] = GgufText("e4m3_e8m0_32_row66"); },
                         kInvalidArgument, "encoding is \"e4m3_e8m0_32_row66\", expected \"e4m3_e8m0_32_row33\""},
                    Case{"encoding_number", [](auto& s) { s.keys[s.Key("encoding")] = GgufU32(1); }, kInvalidArgument,
                         "key deepseek41.engram.encoding: holds u32, not a string"}),
    CaseName<Case>);

Case Missing(const std::string& key) {
  return Case{"no_" + key, [key](auto& s) { s.keys.erase(s.Key(key)); }, kInvalidArgument, "deepseek41.engram." + key};
}

INSTANTIATE_TEST_SUITE_P(
    Keys, MalformedGguf,
    testing::Values(
        Missing("encoding"), Missing("layer_ids"), Missing("rows"), Missing("compressed_vocab_size"), Missing("pad_id"),
        Missing("token_map"), Missing("primes"), Missing("multipliers"),
        Case{"both_prefixes", [](auto& s) { s.keys["deepseek4.engram.layer_ids"] = GgufI64Array({1}); },
             kInvalidArgument, "deepseek41.engram. and deepseek4.engram."},
        Case{"primes_are_floats", [](auto& s) { s.keys[s.Key("primes")] = GgufArray(6, 12, std::string(48, '\0')); },
             kInvalidArgument, "key deepseek41.engram.primes: holds f32, not integers"},
        Case{"primes_are_strings", [](auto& s) { s.keys[s.Key("primes")] = GgufArray(8, 1, Le(uint64_t{0})); },
             kInvalidArgument, "key deepseek41.engram.primes: holds string, not integers"},
        Case{"primes_is_one_number", [](auto& s) { s.keys[s.Key("primes")] = GgufU32(67); }, kInvalidArgument,
             "key deepseek41.engram.primes: holds u32, not an array"},
        Case{"pad_id_is_array", [](auto& s) { s.keys[s.Key("pad_id")] = GgufI64Array({2}); }, kInvalidArgument,
             "key deepseek41.engram.pad_id: holds an array"},
        Case{"multiplier_above_int64",
             [](auto& s) { s.keys[s.Key("multipliers")] = GgufArray(10, 8, std::string(64, '\xff')); },
             kInvalidArgument, "key deepseek41.engram.multipliers: element 0 is 18446744073709551615, above 2^63 - 1"},
        Case{"layer_id_negative",
             [](auto& s) {
               s.keys[s.Key("layer_ids")] = GgufI64Array({1, -4});
             },
             kInvalidArgument, "key deepseek41.engram.layer_ids holds -4"},
        Case{"no_layers", [](auto& s) { s.keys[s.Key("layer_ids")] = GgufI64Array({}); }, kInvalidArgument,
             "key deepseek41.engram.multipliers has 8 elements, not a multiple of 0"},
        Case{"layer_twice",
             [](auto& s) {
               s.keys[s.Key("layer_ids")] = GgufI64Array({1, 1});
             },
             kInvalidArgument, "layer"},
        Case{"multipliers_odd",
             [](auto& s) {
               s.keys[s.Key("multipliers")] = GgufI64Array({1, 3, 5});
             },
             kInvalidArgument, "key deepseek41.engram.multipliers has 3 elements, not a multiple of 2"},
        Case{"token_map_out_of_range",
             [](auto& s) {
               std::vector<int64_t> map = SampleTokenMap();
               map[5] = 64;
               s.keys[s.Key("token_map")] = GgufI64Array(map);
             },
             kInvalidArgument, "deepseek41.engram.token_map[5] is 64, not in [0, 64)"},
        Case{"token_map_negative",
             [](auto& s) {
               std::vector<int64_t> map = SampleTokenMap();
               map[7] = -1;
               s.keys[s.Key("token_map")] = GgufI64Array(map);
             },
             kInvalidArgument, "deepseek41.engram.token_map[7] is -1"},
        Case{"pad_out_of_range", [](auto& s) { s.keys[s.Key("pad_id")] = GgufU32(64); }, kInvalidArgument,
             "deepseek41.engram.pad_id[0] is 64"},
        Case{"primes_do_not_add_up",
             [](auto& s) {
               std::vector<int64_t> primes = SamplePrimes();
               primes[11] = 127;
               s.keys[s.Key("primes")] = GgufI64Array(primes);
             },
             kInvalidArgument, "primes of layer 4"},
        Case{"primes_that_are_none",
             [](auto& s) {
               std::vector<int64_t> primes = SamplePrimes();
               ++primes[3], --primes[4];
               s.keys[s.Key("primes")] = GgufI64Array(primes);
             },
             kFailedPrecondition, "but 79 in the primes from 67"},
        Case{"multipliers_of_another_layer",
             [](auto& s) {
               std::vector<int64_t> multipliers = SampleMultipliers();
               multipliers[6] += 2;
               s.keys[s.Key("multipliers")] = GgufI64Array(multipliers);
             },
             kFailedPrecondition, "multipliers[6] is 114038564133282485 in "},
        Case{"offsets_are_no_sums", [](auto& s) { s.keys[s.Key("offsets")] = GgufI64Array(std::vector<int64_t>(12)); },
             kInvalidArgument, "offsets"},
        Case{"max_ngram_size_differs", [](auto& s) { s.keys[s.Key("max_ngram_size")] = GgufU32(3); },
             kFailedPrecondition, "deepseek41.engram.max_ngram_size is 3, but the checkpoint's is 4"}),
    CaseName<Case>);

INSTANTIATE_TEST_SUITE_P(
    Splits, MalformedGguf,
    testing::Values(Case{"split_name",
                         [](auto& s) { s.keys["split.count"] = GgufU32(2), s.keys["split.no"] = GgufU32(0); },
                         kInvalidArgument, "must end in -00001-of-00002.gguf"},
                    Case{"split_not_first",
                         [](auto& s) { s.keys["split.count"] = GgufU32(2), s.keys["split.no"] = GgufU32(1); },
                         kInvalidArgument, "key split.no is 1"},
                    Case{"split_count_huge", [](auto& s) { s.keys["split.count"] = GgufU32(1u << 30); },
                         kInvalidArgument, "key split.count is 1073741824"}),
    CaseName<Case>);

}  // namespace
}  // namespace engram
