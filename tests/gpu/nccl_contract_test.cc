// The contract of all Collectives for what NCCL moves, in the double: ranks are threads, each with a device.

#include "tests/contract/collective_contract.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/gpu/nccl_collective.h"

namespace engram {

void RunOnRanks(int ranks, const std::function<void(Collective&)>& body) {
  RunGpuRanks(ranks, [&body](Collective& host) {
    const auto collective = NcclCollective::Create(host, host.rank(), InAMinute());
    ASSERT_EQ(collective.status(), absl::OkStatus());
    body(**collective);
    EXPECT_EQ((*collective)->Close(InAMinute()), absl::OkStatus());
  });
}

namespace {

INSTANTIATE_TEST_SUITE_P(NcclDouble, CollectiveContract, testing::Values(1, 2, 3, 4, 7));

}  // namespace
}  // namespace engram
