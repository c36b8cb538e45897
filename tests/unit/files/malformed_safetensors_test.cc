#include "model/files/checkpoint.h"
#include "tests/unit/files/malformed_case.h"
#include "tests/unit/files/sample_files.h"

namespace engram {
namespace {

using enum absl::StatusCode;

using Case = MalformedCase<SampleFolder>;
class MalformedSafetensors : public testing::TestWithParam<Case> {};

TEST_P(MalformedSafetensors, IsRefusedByName) {
  SampleFolder sample;
  GetParam().spoil(sample);
  const TempFolder folder;
  ExpectRefused(OpenCheckpoint(sample.Write(folder), "").status(), GetParam().code, GetParam().named);
}

nlohmann::json& Weight(SampleFolder& sample) { return sample.header["layers.1.engram.embed.weight"]; }
nlohmann::json& Scale(SampleFolder& sample) { return sample.header["layers.4.engram.embed.scale"]; }

constexpr uint64_t kHuge = uint64_t{1} << 63;

INSTANTIATE_TEST_SUITE_P(
    Cases, MalformedSafetensors,
    testing::Values(
        Case{"data_truncated", [](auto& s) { s.data.pop_back(); }, kDataLoss,
             "tensor layers.4.engram.embed.scale: data_offsets end"},
        Case{"unused_tensor_beyond_file",
             [](auto& s) {
               s.header["other.weight"]["data_offsets"] = {0, 1 << 30};
             },
             kDataLoss, "tensor other.weight: data_offsets end 1073741824"},
        Case{"offsets_at_64_bits",
             [](auto& s) {
               Weight(s)["data_offsets"] = {kHuge, kHuge + 14784};
             },
             kDataLoss, "layers.1.engram.embed.weight"},
        Case{"offsets_reversed",
             [](auto& s) {
               Weight(s)["data_offsets"] = {14784, 0};
             },
             kInvalidArgument, "tensor layers.1.engram.embed.weight: data_offsets begin 14784 > end 0"},
        Case{"offsets_missing", [](auto& s) { Weight(s).erase("data_offsets"); }, kInvalidArgument,
             "tensor layers.1.engram.embed.weight: data_offsets is missing"},
        Case{"offsets_of_three",
             [](auto& s) {
               Weight(s)["data_offsets"] = {0, 1, 2};
             },
             kInvalidArgument, "data_offsets has 3 numbers"},
        Case{"offsets_negative",
             [](auto& s) {
               Weight(s)["data_offsets"] = {-1, 14784};
             },
             kInvalidArgument, "data_offsets holds a negative number"},
        Case{"offsets_text", [](auto& s) { Weight(s)["data_offsets"] = "0"; }, kInvalidArgument,
             "data_offsets holds a string"},
        Case{"scales_inside_codes",
             [](auto& s) {
               s.header["layers.1.engram.embed.scale"]["data_offsets"] = {100, 562};
             },
             kInvalidArgument, "overlap"},
        Case{"two_layers_share_a_byte",
             [](auto& s) {
               Weight(s)["data_offsets"] = {463, 463 + 14784};
               s.header["layers.1.engram.embed.scale"]["data_offsets"] = {0, 462};
             },
             kInvalidArgument, "overlap"},
        Case{"shape_missing", [](auto& s) { Weight(s).erase("shape"); }, kInvalidArgument, "shape is missing"},
        Case{"shape_fraction",
             [](auto& s) {
               Weight(s)["shape"] = {462.5, 32};
             },
             kInvalidArgument, "shape holds a fraction"},
        Case{"shape_nested",
             [](auto& s) {
               Weight(s)["shape"] = {{462}, {32}};
             },
             kInvalidArgument, "shape holds an array"},
        Case{"shape_product_overflows",
             [](auto& s) {
               Weight(s)["shape"] = {kHuge, 2};
             },
             kInvalidArgument, "tensor layers.1.engram.embed.weight: shape [9223372036854775808, 2]"},
        Case{"shape_does_not_fit_offsets",
             [](auto& s) {
               Weight(s)["shape"] = {461, 32};
             },
             kInvalidArgument, "shape [461, 32] of F8_E4M3 does not fit the 14784 bytes"},
        Case{"shape_transposed",
             [](auto& s) {
               Weight(s)["shape"] = {32, 462};
             },
             kInvalidArgument, "shape is [32, 462], expected [462, 32]"},
        Case{"dtype_missing", [](auto& s) { Weight(s).erase("dtype"); }, kInvalidArgument, "dtype is missing"},
        Case{"dtype_number", [](auto& s) { Weight(s)["dtype"] = 8; }, kInvalidArgument, "dtype holds a number"},
        Case{"dtype_unknown", [](auto& s) { Weight(s)["dtype"] = "F8_NEW"; }, kInvalidArgument,
             "tensor layers.1.engram.embed.weight: dtype F8_NEW is not known"},
        Case{"weight_of_other_dtype", [](auto& s) { Weight(s)["dtype"] = "F8_E5M2"; }, kInvalidArgument,
             "dtype is F8_E5M2, expected F8_E4M3"},
        Case{"scale_of_other_dtype", [](auto& s) { Scale(s)["dtype"] = "F8_E4M3"; }, kInvalidArgument,
             "tensor layers.4.engram.embed.scale: dtype is F8_E4M3, expected F8_E8M0 or U8"},
        Case{"entry_is_list",
             [](auto& s) {
               Weight(s) = {1, 2};
             },
             kInvalidArgument, "its entry is an array"},
        Case{"header_is_list",
             [](auto& s) {
               s.header = {1, 2};
             },
             kInvalidArgument, "the header is an array"},
        Case{"nested_without_end",
             [](auto& s) {
               nlohmann::json deep;
               for (int i = 0; i < 40; ++i) deep = nlohmann::json::array({deep});
               Weight(s)["extra"] = deep;
             },
             kInvalidArgument, "nests deeper"},
        Case{"scale_missing", [](auto& s) { s.header.erase("layers.4.engram.embed.scale"); }, kNotFound,
             "has no tensor layers.4.engram.embed.scale"},
        Case{"rows_of_config_differ",
             [](auto& s) {
               s.config["engram_num_embeddings"] = {463, 630};
             },
             kInvalidArgument, "tensor layers.1.engram.embed.weight: shape is [462, 32], expected [463, 32]"}),
    CaseName<Case>);

}  // namespace
}  // namespace engram
