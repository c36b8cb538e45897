// What fits on a GPU, in numbers of the full-size model.

#include "shard/gpu/memory_plan.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr RoundBytes kRounds = {1000, 2000};

// A card of that size, 1 GiB of it in use.
MemoryThere Card(uint64_t gib, uint64_t host_gib) {
  return {"device 0 (a card)", (gib - 1) * kGiB, gib * kGiB, host_gib * kGiB};
}

class MemoryPlan : public testing::Test {
 protected:
  MemoryPlan() {
    geometry_.layer_ids = {1, 14};
    geometry_.rows = {384006168, 384016682};
    geometry_.head_dim = 256;
    options_.placement = Placement::kDevice;
  }

  absl::StatusOr<std::vector<std::string>> Plan(int rank, int ranks, const MemoryThere& there) {
    return PlanMemory({geometry_, options_, rank, ranks}, kRounds, there);
  }

  std::string Refusal(int rank, int ranks, const MemoryThere& there) {
    const absl::Status status = Plan(rank, ranks, there).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    return std::string(status.message());
  }

  Geometry geometry_;
  EngineOptions options_;
};

TEST_F(MemoryPlan, FourRanksOfEightyGibibytesHoldTheModel) {
  const auto lines = Plan(0, 4, Card(80, 64));
  ASSERT_EQ(lines.status(), absl::OkStatus());
  EXPECT_THAT(*lines,
              ElementsAre("layer 1: DEVICE, rows [0, 96001542): 25344407088 bytes on the device, 0 on the host",
                          "layer 14: DEVICE, rows [0, 96004171): 25345101144 bytes on the device, 0 on the host",
                          "rounds: 1000 bytes on the device, 2000 on the host",
                          "device 0 (a card): 50689509232 bytes needed, 84825604096 of 85899345920 free, "
                          "1717986918 of them kept in reserve",
                          "host: 2000 bytes of pinned memory needed, 68719476736 available"));
}

TEST_F(MemoryPlan, OneRankOfEightyGibibytesIsRefusedWithNumbersAndAHint) {
  const std::string refusal = Refusal(0, 1, Card(80, 256));
  EXPECT_THAT(refusal, HasSubstr("rank 0 of 1 does not fit: layer 1: DEVICE, rows [0, 384006168): 101377628352 bytes"));
  EXPECT_THAT(refusal, HasSubstr("layer 14: DEVICE, rows [0, 384016682): 101380404048 bytes on the device"));
  EXPECT_THAT(refusal, HasSubstr("device 0 (a card): 202758033400 bytes needed, 84825604096 of 85899345920 free"));
  EXPECT_THAT(refusal, EndsWith("; it fits with layers 14 and 1 in HOST_PINNED (sharding.layer_placements)"));
}

TEST_F(MemoryPlan, NoHintThatTheHostCannotFulfil) {
  EXPECT_THAT(Refusal(0, 1, Card(80, 128)), EndsWith("137438953472 available"));
}

TEST_F(MemoryPlan, OneLayerInHostMemoryIsHintedWhereItIsEnough) {
  const std::string refusal = Refusal(0, 1, Card(140, 128));
  EXPECT_THAT(refusal, EndsWith("; it fits with layer 1 in HOST_PINNED (sharding.layer_placements)"));
  options_.layer_placements = {Placement::kHostPinned, Placement::kDevice};
  const auto lines = Plan(0, 1, Card(140, 128));
  ASSERT_EQ(lines.status(), absl::OkStatus());
  EXPECT_EQ((*lines)[0], "layer 1: HOST_PINNED, rows [0, 384006168): 0 bytes on the device, 101377628352 on the host");
  EXPECT_EQ((*lines)[4], "host: 101377630352 bytes of pinned memory needed, 137438953472 available");
}

TEST_F(MemoryPlan, TheHintMovesNoMoreThanIsNeeded) {
  geometry_.layer_ids = {1, 2, 3};
  geometry_.rows = {100'000'000, 10'000'000, 20'000'000};  // 26.4, 2.64 and 5.28 GB
  EXPECT_THAT(Refusal(0, 1, Card(32, 64)), EndsWith("it fits with layer 2 in HOST_PINNED (sharding.layer_placements)"));
  EXPECT_THAT(Refusal(0, 1, Card(30, 64)), EndsWith("it fits with layer 3 in HOST_PINNED (sharding.layer_placements)"));
  EXPECT_THAT(Refusal(0, 1, Card(8, 64)),
              EndsWith("it fits with layers 1 and 2 in HOST_PINNED (sharding.layer_placements)"));
}

TEST_F(MemoryPlan, TheHostIsWeighedToo) {
  options_.placement = Placement::kHostPinned;
  const std::string refusal = Refusal(0, 1, Card(80, 128));
  EXPECT_THAT(refusal, EndsWith("host: 202758034400 bytes of pinned memory needed, 137438953472 available"));
  EXPECT_EQ(Plan(0, 1, Card(80, 256)).status(), absl::OkStatus());
}

// 101,379,017,200 bytes a rank on a host of two ranks.
TEST_F(MemoryPlan, RanksOfOneHostShareItsMemory) {
  options_.placement = Placement::kHostPinned;
  const GpuLoad load{geometry_, options_, 1, 2, 2};
  const absl::Status status = PlanMemory(load, kRounds, Card(80, 128)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              EndsWith("bytes of pinned memory needed, 137438953472 available, 68719476736 of them a rank"));
  EXPECT_EQ(PlanMemory(load, kRounds, Card(80, 256)).status(), absl::OkStatus());
  EXPECT_EQ(Plan(1, 2, Card(80, 128)).status(), absl::OkStatus()) << "alone on its host";
}

TEST_F(MemoryPlan, TheFrontEndsRepliesCountToo) {
  options_.reply_bytes = 64 << 20;
  const absl::StatusOr<std::vector<std::string>> front = Plan(0, 4, Card(80, 64));
  ASSERT_EQ(front.status(), absl::OkStatus());
  EXPECT_THAT(*front, testing::Contains("replies: 67108864 bytes on the host"));
  EXPECT_THAT(front->back(), testing::StartsWith("host: 67110864 bytes of pinned memory needed"));
  const absl::StatusOr<std::vector<std::string>> other = Plan(1, 4, Card(80, 64));
  ASSERT_EQ(other.status(), absl::OkStatus());
  EXPECT_THAT(other->back(), testing::StartsWith("host: 2000 bytes of pinned memory needed"));
}

TEST_F(MemoryPlan, RoundsThatDoNotFitByThemselvesAreHinted) {
  const GpuLoad load{geometry_, options_, 0, 4};
  const absl::Status status = PlanMemory(load, {uint64_t{100} << 30, 0}, Card(80, 64)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), EndsWith("a smaller scheduling.round_bytes_max makes the rounds smaller"));
}

TEST_F(MemoryPlan, ToTheByte) {
  MemoryThere there = Card(80, 64);
  there.device_free = 50689509232 + 1717986918;
  there.host_available = 2000;
  EXPECT_EQ(Plan(0, 4, there).status(), absl::OkStatus());
  --there.device_free;
  EXPECT_FALSE(Plan(0, 4, there).ok());
  ++there.device_free;
  --there.host_available;
  EXPECT_FALSE(Plan(0, 4, there).ok());
}

TEST_F(MemoryPlan, AFullDeviceHasNoRoomForTheReserve) {
  MemoryThere there = Card(80, 64);
  there.device_free = 1000;
  EXPECT_THAT(Refusal(0, 4, there), HasSubstr("1000 of 85899345920 free"));
}

TEST_F(MemoryPlan, AnEmptyShardNeedsNothing) {
  geometry_.rows = {3, 384016682};
  const auto lines = Plan(5, 7, Card(80, 64));
  ASSERT_EQ(lines.status(), absl::OkStatus());
  EXPECT_EQ((*lines)[0], "layer 1: DEVICE, rows [3, 3): 0 bytes on the device, 0 on the host");
}

TEST(TableLayout, ScalesBeginAlignedBehindAllCodes) {
  EXPECT_EQ(LayoutOf(51, 32).codes, 1632u);
  EXPECT_EQ(LayoutOf(51, 32).scales_begin, 1792u);
  EXPECT_EQ(LayoutOf(51, 32).total(), 1843u);
  EXPECT_EQ(LayoutOf(8, 32).scales_begin, 256u);
  EXPECT_EQ(LayoutOf(384016682, 256).total(), 101380404048u);
  EXPECT_EQ(LayoutOf(0, 256).total(), 0u);
}

TEST(DeviceReserve, AShareOfLargeDevicesAndALeastOfSmallOnes) {
  EXPECT_EQ(DeviceReserve(kGiB), 536870912u);
  EXPECT_EQ(DeviceReserve(100 * kGiB), 2147483648u);
}

}  // namespace
}  // namespace engram
