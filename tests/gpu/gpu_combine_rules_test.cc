// What a Combine on a GPU refuses, and what it takes of memory: in the double.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "shard/gpu/gpu_combine.h"
#include "shard/row_plan.h"
#include "tests/gpu/gpu_combine_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

// A front end that asks for what is not there is told so, and the round ends all the same.
class GpuWrongQuestion : public GpuCombineTest {};

TEST_F(GpuWrongQuestion, RowsOfOthersAreReported) {
  RunGpuRanks(2, [&](Collective& host) {
    absl::StatusOr<Rank> rank = Load(CombineMode::kOwnerGather, host);
    ASSERT_EQ(rank.status(), absl::OkStatus());
    // Rank 1 owns rows [49, 97) of the first layer and [250, 500) of the second.
    std::vector<uint64_t> entries = {EntryOf(0, 60),  EntryOf(0, 48), EntryOf(1, 499),
                                     EntryOf(1, 500), EntryOf(2, 60), ~uint64_t{0}};
    const auto* bytes = reinterpret_cast<const std::byte*>(entries.data());
    const absl::Span<const std::byte> parts[] = {{}, {bytes, entries.size() * sizeof(uint64_t)}};
    if (host.rank() == 0) {
      EXPECT_EQ(host.Scatter(0, parts, {}, InAMinute()), absl::OkStatus());
      RoundHeader done;
      EXPECT_EQ(BroadcastRecord(host, 1, done, InAMinute()), absl::OkStatus());
      return;
    }
    RoundHeader header;
    header.rows = header.rows_of_rank = entries.size();
    absl::Status rows;
    const absl::Status answered = rank->combine->Answer(header, DeadlineAfter(absl::Milliseconds(300)), rows);
    EXPECT_EQ(rows, absl::InternalError("asked for 6 rows of which 2 are owned here"));
    EXPECT_THAT(std::string(answered.message()), HasSubstr("no answer in time from rank 0"))
        << "which receives nothing";
    EXPECT_EQ(BroadcastRecord(host, 1, header, InAMinute()), absl::OkStatus());
  });
}

// What the device does for others must not outlast the job.
TEST_F(GpuWrongQuestion, AnErrorBetweenHostsEndsTheCommunicator) {
  RunGpuRanks(2, [&](Collective& host) {
    absl::StatusOr<Rank> rank = Load(CombineMode::kAllReducePacked, host);
    ASSERT_EQ(rank.status(), absl::OkStatus());
    RoundHeader all_are_here;
    ASSERT_EQ(BroadcastRecord(host, 0, all_are_here, InAMinute()), absl::OkStatus());
    if (host.rank() == 1) {  // asked by nobody
      absl::Status rows;
      RoundHeader header;
      header.rows = 5;
      const absl::Status lost = rank->combine->Answer(header, DeadlineAfter(absl::Milliseconds(20)), rows);
      EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(rank->combine->Answer(RoundHeader(), InAMinute(), rows), lost);
    }
  });
}

TEST_F(GpuWrongQuestion, RowsOnTheCpuAreNotFound) {
  RunGpuRanks(1, [&](Collective& host) {
    EngineOptions options = GpuOptionsOf(CombineMode::kOwnerGather, Placement::kMapped);
    LoadMeter meter(0, nullptr, InAMinute());
    const auto shard = Shard::Load(checkpoint_, options, nullptr, 0, 1, meter);
    ASSERT_EQ(shard.status(), absl::OkStatus());
    EXPECT_EQ(GpuCombine::Make(CombineMode::kOwnerGather, host, **shard, 100, 0).status(),
              absl::InternalError("layer 1: its rows are not where a GPU finds them"));
  });
}

// What Make takes is what is planned with.
TEST_F(GpuCombineTest, TakesNoOtherMemoryThanItsBuffers) {
  const RoundSizes sizes = RoundSizesOf(CombineMode::kOwnerGather, checkpoint_.geometry, 4096, 1);
  size_t free_before = 0;
  size_t total = 0;
  RunGpuRanks(1, [&](Collective& host) {
    EngineOptions options = GpuOptionsOf(CombineMode::kOwnerGather, Placement::kDevice);
    LoadMeter meter(0, nullptr, InAMinute());
    const auto gpu = CudaBackend().Open(0).value();
    const auto shard = Shard::Load(checkpoint_, options, gpu.get(), 0, 1, meter);
    ASSERT_EQ(shard.status(), absl::OkStatus());
    ASSERT_EQ(cudaMemGetInfo(&free_before, &total), cudaSuccess);
    const auto combine = gpu->MakeCombine(CombineMode::kOwnerGather, host, **shard, 4096);
    ASSERT_EQ(combine.status(), absl::OkStatus());
    size_t free_after = 0;
    ASSERT_EQ(cudaMemGetInfo(&free_after, &total), cudaSuccess);
    EXPECT_EQ(free_before - free_after, sizes.Sum().device);
  });
}

}  // namespace
}  // namespace engram
