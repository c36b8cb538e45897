// The whole engine on the machine's own GPUs: ranks are processes, rank r on device r % devices, so that every number
// of ranks runs on any machine. Without a GPU every test is skipped and says why.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "shard/gpu/cuda_backend.h"
#include "tests/gpu/card_processes.h"
#include "tests/gpu/engine_ranks.h"

namespace engram {
namespace {

// Loading contexts, then about ten engines one after the other by ranks that may take turns on one card.
constexpr absl::Duration kLimit = absl::Minutes(5);

// The parameter: ranks, mode, placement.
class EngineOnDevices : public testing::TestWithParam<std::tuple<int, CombineMode, Placement>> {
 protected:
  void SetUp() override {
    static const absl::StatusOr<int> devices = CountDevicesElsewhere();
    if (!devices.ok()) GTEST_SKIP() << "no GPU: " << devices.status();
  }

  static void RunOnDevices(int ranks, const std::function<void(Collective&)>& body) {
    RunOnRankProcesses(ranks, kLimit, [&](Collective& collective) {
      ASSERT_EQ(ChooseDevice(collective.rank(), ranks).status(), absl::OkStatus());
      body(collective);
    });
  }
};

std::string NameOfCase(const testing::TestParamInfo<EngineOnDevices::ParamType>& info) {
  const auto [ranks, mode, placement] = info.param;
  return absl::StrCat(ranks, "_", std::string(NameOf(mode)), "_", std::string(NameOf(placement)));
}

TEST_P(EngineOnDevices, ReturnsTheReferencesRows) {
  const auto [ranks, mode, placement] = GetParam();
  RunOnDevices(ranks, [mode = mode, placement = placement](Collective& collective) {
    CheckEngineOnRank(collective, TestEngineOptions(mode, placement, &CudaBackend()));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EngineOnDevices,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked,
                                                          CombineMode::kOwnerGather),
                                          testing::Values(Placement::kDevice, Placement::kHostPinned)),
                         NameOfCase);

}  // namespace
}  // namespace engram
