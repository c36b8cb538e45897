// The contract of all Collectives for what NCCL moves between GPUs: ranks are processes, which share the cards where
// they are more.

#include <algorithm>
#include <functional>

#include "tests/contract/collective_contract.h"
#include "tests/gpu/card_processes.h"
#include "tests/gpu/engine_ranks.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/gpu/nccl_collective.h"

namespace engram {
namespace {

constexpr int kSharedRanksMax = 3;  // more have a card each, or are left out: taking turns is slow

void LiveAsRank(Collective& host, const std::function<void(Collective&)>& body) {
  const absl::StatusOr<int> device = ChooseDevice(host.rank(), host.ranks());
  ASSERT_EQ(device.status(), absl::OkStatus());
  const auto collective = NcclCollective::Create(host, *device, InAMinute());
  ASSERT_EQ(collective.status(), absl::OkStatus());
  body(**collective);
  EXPECT_EQ((*collective)->Close(InAMinute()), absl::OkStatus());
}

}  // namespace

void RunOnRanks(int ranks, const std::function<void(Collective&)>& body) {
  static const absl::StatusOr<int> devices = CountDevicesElsewhere();
  if (!devices.ok()) GTEST_SKIP() << "no GPU: " << devices.status();
  if (ranks > std::max(kSharedRanksMax, *devices)) {
    GTEST_SKIP() << "needs " << ranks << " GPUs, there are " << *devices;
  }
  RunOnRankProcesses(ranks, absl::Minutes(3), [&body](Collective& host) { LiveAsRank(host, body); });
}

namespace {

INSTANTIATE_TEST_SUITE_P(Nccl, CollectiveContract, testing::Values(1, 2, 3, 4, 8));

}  // namespace
}  // namespace engram
