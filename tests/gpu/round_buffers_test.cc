// What a rank's rounds take of memory: the numbers that are planned with, and what is really allocated.

#include "shard/gpu/round_buffers.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <string>
#include <tuple>

#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_engine.h"

namespace engram {
namespace {

// Two layers of rows of 256 codes: 264 bytes packed, 512 as bf16.
Geometry TwoLayers() {
  Geometry geometry;
  geometry.layer_ids = {1, 14};
  geometry.rows = {1000, 2000};
  geometry.head_dim = 256;
  return geometry;
}

// What the double's machine has handed out.
RoundBytes Held() {
  RoundBytes held;
  for (const std::string& line : cuda_double::Leaks()) {
    unsigned long long bytes = 0;  // NOLINT: what sscanf takes
    char kind[16] = {};
    if (std::sscanf(line.c_str(), "%llu bytes of %15s memory", &bytes, kind) != 2) continue;
    (std::string(kind) == "device" ? held.device : held.pinned) += bytes;
  }
  return held;
}

void ExpectBytes(RoundBytes bytes, uint64_t device, uint64_t pinned) {
  EXPECT_EQ(bytes.device, device);
  EXPECT_EQ(bytes.pinned, pinned);
}

TEST(RoundBytes, LiteralKnownAnswers) {
  const Geometry geometry = TwoLayers();
  // Addresses of 2 tables (64), ids (8 a row), rows (512) twice; on the host ids twice and small rows twice.
  const uint64_t device = 64 + 10000 * (8 + 2 * 512);
  const uint64_t pinned = 2 * (10000 * 8 + 1024 * 512);
  ExpectBytes(RoundBytesOf(CombineMode::kAllReduceBf16, geometry, 10000, 1), device, pinned);
  ExpectBytes(RoundBytesOf(CombineMode::kAllReduceBf16, geometry, 10000, 2), device, pinned);
  ExpectBytes(RoundBytesOf(CombineMode::kAllReducePacked, geometry, 10000, 1), device, pinned);
  ExpectBytes(RoundBytesOf(CombineMode::kOwnerGather, geometry, 10000, 1), device, pinned);
  // Sums, twice.
  ExpectBytes(RoundBytesOf(CombineMode::kAllReducePacked, geometry, 10000, 2), device + 10000 * 2 * 264, pinned);
  // Rows as received; a place (4) and a run (24) for each on both sides.
  ExpectBytes(RoundBytesOf(CombineMode::kOwnerGather, geometry, 10000, 8), device + 10000 * (264 + 28),
              pinned + 10000 * 28);
}

TEST(RoundBytes, OfFewRows) {
  Geometry geometry = TwoLayers();
  ExpectBytes(RoundBytesOf(CombineMode::kAllReduceBf16, geometry, 3, 1), 64 + 3 * 1032, 2 * 3 * 520);
  // 3 rows of 33 bytes are 99: 13 words.
  geometry.head_dim = 32;
  ExpectBytes(RoundBytesOf(CombineMode::kAllReducePacked, geometry, 3, 2), 64 + 3 * (8 + 128) + 2 * 104, 2 * 3 * 72);
}

// The parameter: ranks, mode.
class RoundBuffersTest : public testing::TestWithParam<std::tuple<int, CombineMode>> {};

INSTANTIATE_TEST_SUITE_P(All, RoundBuffersTest,
                         testing::Combine(testing::Values(1, 2, 8), testing::ValuesIn(kCombineModes)));

TEST_P(RoundBuffersTest, TakeWhatWasPlanned) {
  const auto [ranks, mode] = GetParam();
  for (const uint64_t rows_max : {1, 7, 1024, 5000}) {
    cuda_double::Install({});
    const RoundBytes planned = RoundBytesOf(mode, TwoLayers(), rows_max, ranks);
    const auto buffers = RoundBuffers::Allocate(RoundSizesOf(mode, TwoLayers(), rows_max, ranks), 3);
    ASSERT_EQ(buffers.status(), absl::OkStatus());
    ExpectBytes(Held(), planned.device, planned.pinned);
  }
}

TEST_P(RoundBuffersTest, TooMuchIsNamed) {
  const auto [ranks, mode] = GetParam();
  cuda_double::Plan plan;
  plan.device_bytes = 1 << 20;
  cuda_double::Install(plan);
  const absl::Status status = RoundBuffers::Allocate(RoundSizesOf(mode, TwoLayers(), 5000, ranks), 3).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("round_rows_max rows"));
  EXPECT_THAT(cuda_double::Leaks(), testing::IsEmpty());
}

}  // namespace
}  // namespace engram
