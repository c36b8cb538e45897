// Which GPU a rank gets, what it is called, and what it refuses: in the double alone.

#include "shard/gpu/cuda_rank.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "shard/gpu/cuda_backend.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr uint64_t kDeviceBytes = uint64_t{513} << 20;  // the reserve, and 1 MiB

class CudaRanks : public testing::Test {
 protected:
  void SetUp() override { Make(3, kDeviceBytes); }
  void TearDown() override {
    unsetenv("NCCL_HOSTID");
    EXPECT_THAT(cuda_double::Leaks(), IsEmpty());
    EXPECT_THAT(cuda_double::Faults(), IsEmpty());
    cuda_double::Install({});
  }

  static void Make(int devices, uint64_t device_bytes) {
    cuda_double::Plan plan;
    plan.devices = devices;
    plan.device_bytes = device_bytes;
    cuda_double::Install(plan);
  }

  static std::string IdOf(int local_rank) { return CudaBackend().Open(local_rank).value()->id(); }

  // One layer of 1000 rows of 256 codes, all on the device.
  static absl::StatusOr<std::vector<std::string>> Plan(int local_rank) {
    Geometry geometry;
    geometry.layer_ids = {7};
    geometry.rows = {1000};
    geometry.head_dim = 256;
    EngineOptions options;
    options.placement = Placement::kDevice;
    options.round_rows_max = 100;
    return CudaBackend().Open(local_rank).value()->Plan({geometry, options, 0, 1});
  }
};

TEST_F(CudaRanks, RanksGoRoundTheDevices) {
  EXPECT_THAT((std::set<std::string>{IdOf(0), IdOf(1), IdOf(2)}), SizeIs(3));
  EXPECT_THAT(IdOf(0), SizeIs(32));
  EXPECT_EQ(IdOf(3), IdOf(0));
  EXPECT_EQ(IdOf(7), IdOf(1));
}

TEST_F(CudaRanks, HostsThatNcclTellsApartHaveOtherGpus) {
  const std::string plain = IdOf(0);
  setenv("NCCL_HOSTID", "left", 1);
  const std::string left = IdOf(0);
  setenv("NCCL_HOSTID", "right", 1);
  EXPECT_THAT((std::set<std::string>{plain, left, IdOf(0)}), SizeIs(3));
  setenv("NCCL_HOSTID", "left", 1);
  EXPECT_EQ(IdOf(0), left);
}

TEST_F(CudaRanks, WithoutADeviceItSaysWhy) {
  Make(0, 0);
  EXPECT_EQ(CudaBackend().Open(0).status(),
            absl::FailedPreconditionError("no GPU: cudaGetDeviceCount(&count): no CUDA-capable device is detected "
                                          "(cudaErrorNoDevice)"));
}

TEST_F(CudaRanks, ThePlanNamesTheDevice) {
  const auto lines = Plan(1);
  ASSERT_EQ(lines.status(), absl::OkStatus());
  EXPECT_THAT(*lines, ElementsAre("layer 7: DEVICE, rows [0, 1000): 264000 bytes on the device, 0 on the host",
                                  StartsWith("rounds: "),
                                  AllOf(StartsWith("device 1 (double of a GPU, number 1, compute capability 9.0): "),
                                        HasSubstr("bytes needed, 537919488 of 537919488 free, 536870912 of them")),
                                  MatchesRegex("host: [0-9]+ bytes of pinned memory needed, [0-9]+ available")));
  EXPECT_EQ(cuda_double::Acquisitions(), 0);
}

TEST_F(CudaRanks, ThePlanCountsWhatOthersHold) {
  const DeviceBuffer other = DeviceBuffer::Allocate(1, 1000000, "others").value();
  const absl::Status status = Plan(1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("536919488 of 537919488 free"));
  EXPECT_EQ(Plan(2).status(), absl::OkStatus()) << "another device has its own";
}

TEST_F(CudaRanks, ReplyMemoryIsPinnedOnceAndLetGo) {
  std::vector<std::byte> memory(8192);
  {
    const auto rank = CudaBackend().Open(1).value();
    ASSERT_EQ(rank->PinReplyMemory(absl::MakeSpan(memory)), absl::OkStatus());
    EXPECT_THAT(cuda_double::Leaks(), ElementsAre("8192 bytes of registered memory, device 1"));
    EXPECT_EQ(rank->PinReplyMemory(absl::MakeSpan(memory)),
              absl::FailedPreconditionError("reply memory is pinned once: 8192 bytes are"));
  }
  EXPECT_THAT(cuda_double::Leaks(), IsEmpty());
}

TEST_F(CudaRanks, ReplyMemoryThatCannotBePinnedIsNamedWithItsSize) {
  cuda_double::Plan plan;
  plan.fail_acquisition = 1;
  cuda_double::Install(plan);
  std::vector<std::byte> memory(8192);
  const absl::Status status = CudaBackend().Open(0).value()->PinReplyMemory(absl::MakeSpan(memory));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("for 8192 bytes of reply memory"));
}

// Nothing goes back to device 0, where a context would be made that nobody uses.
TEST_F(CudaRanks, ARanksThreadStaysOnItsDevice) {
  ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
  EXPECT_EQ(Plan(1).status(), absl::OkStatus());
  int device = -1;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
}

}  // namespace
}  // namespace engram
