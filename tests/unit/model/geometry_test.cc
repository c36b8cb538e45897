#include "model/geometry.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/model/full_size.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

TEST(Geometry, FullSizeNumbers) {
  const Geometry geometry = FullSize();
  EXPECT_TRUE(geometry.Validate().ok()) << geometry.Validate();
  EXPECT_EQ(geometry.columns(), 24u);
  EXPECT_EQ(geometry.scales(), 8u);
  EXPECT_EQ(geometry.packed_row_bytes(), 264u);
  EXPECT_EQ(geometry.bf16_row_bytes(), 512u);
  EXPECT_EQ(geometry.LayerIndex(1), 0);
  EXPECT_EQ(geometry.LayerIndex(14), 1);
  EXPECT_EQ(geometry.LayerIndex(2), -1);
}

struct Broken {
  const char* name;
  std::function<void(Geometry&)> change;
  const char* message;
};

class BrokenGeometry : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenGeometry, IsRefusedByName) {
  Geometry geometry = FullSize();
  GetParam().change(geometry);
  const absl::Status status = geometry.Validate();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

const Broken kBroken[] = {
    {"no_layers", [](Geometry& g) { g.layer_ids.clear(); }, "engram_layer_ids is empty"},
    {"repeated_layer",
     [](Geometry& g) {
       g.layer_ids = {14, 14};
     },
     "names layer 14 more than once"},
    {"rows_missing", [](Geometry& g) { g.rows.pop_back(); }, "engram_num_embeddings has 1 values for 2"},
    {"no_rows", [](Geometry& g) { g.rows[1] = 0; }, "engram_num_embeddings[1] = 0 is outside [1, 281474976710655]"},
    {"rows_huge", [](Geometry& g) { g.rows[0] = uint64_t{1} << 48; }, "engram_num_embeddings[0] = 281474976710656"},
    {"ngram_1", [](Geometry& g) { g.max_ngram_size = 1; }, "engram_max_ngram_size = 1 is outside [2, 16]"},
    {"ngram_17", [](Geometry& g) { g.max_ngram_size = 17; }, "engram_max_ngram_size = 17 is outside [2, 16]"},
    {"ngram_0", [](Geometry& g) { g.max_ngram_size = 0; }, "engram_max_ngram_size = 0 is outside [2, 16]"},
    {"heads_0", [](Geometry& g) { g.heads = 0; }, "engram_n_heads = 0 is outside [1, 1024]"},
    {"heads_1025", [](Geometry& g) { g.heads = 1025; }, "engram_n_heads = 1025 is outside [1, 1024]"},
    {"dim_0", [](Geometry& g) { g.head_dim = 0; }, "engram_head_dim = 0 is outside [32, 65536]"},
    {"dim_33", [](Geometry& g) { g.head_dim = 33; }, "engram_head_dim = 33 is not a multiple of 32"},
    {"dim_huge", [](Geometry& g) { g.head_dim = 65568; }, "engram_head_dim = 65568 is outside [32, 65536]"},
    {"vocab_0", [](Geometry& g) { g.vocab_size = 0; }, "vocab_size = 0 is outside [1, 2147483647]"},
    {"vocab_huge", [](Geometry& g) { g.vocab_size = 0x80000000u; }, "vocab_size = 2147483648 is outside"},
    {"classes_0", [](Geometry& g) { g.compressed_vocab_size = 0; }, "engram_compressed_vocab_size = 0 is outside"},
    {"layers_many",
     [](Geometry& g) {
       g.layer_ids.resize(kLayersMax + 1);
       for (size_t i = 0; i < g.layer_ids.size(); ++i) g.layer_ids[i] = static_cast<uint32_t>(i);
     },
     "number of engram_layer_ids = 1025 is outside [1, 1024]"},
    {"columns_many",
     [](Geometry& g) {
       g.layer_ids = {1, 2, 3, 4, 5};
       g.rows.resize(5, 1);
       g.max_ngram_size = 16;
       g.heads = 1024;
     },
     "engram_layer_ids times columns = 76800 is outside [1, 65536]"},
};

INSTANTIATE_TEST_SUITE_P(Each, BrokenGeometry, ::testing::ValuesIn(kBroken),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace engram
