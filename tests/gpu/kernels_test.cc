// The kernels in the double, beyond the cases that run on a card too: any order of any number of threads, tables beyond
// 2^31 rows, memory that a kernel may not touch.

#include <sys/mman.h>

#include <random>

#include "gmock/gmock.h"
#include "shard/gpu/kernel_bodies.h"
#include "shard/gpu/kernel_dispatch.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/double/host_launch.h"
#include "tests/gpu/kernel_fixture.h"

namespace engram {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Kernels : public KernelTest {
 protected:
  void TearDown() override {
    cuda_double::SetThreadOrder({});
    EXPECT_THAT(cuda_double::Faults(), IsEmpty());
  }

  // 100 rows of two layers, every other one unowned.
  std::vector<uint8_t> GatherSome(RowForm form) {
    constexpr uint32_t kHeadDim = 96;
    std::vector<uint64_t> entries(100);
    for (uint64_t i = 0; i < entries.size(); ++i) entries[i] = i % 3 << 48 | i % 17;
    const Output out = MakeOutput(entries.size() * RowBytes(form, kHeadDim), 5);
    GatherArgs args;
    args.layers = Upload(std::vector<DeviceRows>{MakeRows(0, 0, 9, kHeadDim), MakeRows(1, 5, 17, kHeadDim)});
    args.layer_count = 2;
    args.head_dim = kHeadDim;
    args.entries = Upload(entries);
    args.rows = entries.size();
    args.form = form;
    args.out = out.data;
    EXPECT_TRUE(LaunchGather(args, stream()).ok());
    return Read(out);
  }

  // 90 rows backwards into a packed and a bf16 block.
  std::vector<uint8_t> PlaceSome() {
    constexpr uint32_t kHeadDim = 256;
    std::vector<uint32_t> requests(90);
    for (uint32_t i = 0; i < requests.size(); ++i) requests[i] = 89 - i;
    const Output out = MakeOutput(50 * RowBytes(RowForm::kPacked, kHeadDim) + 40 * RowBytes(RowForm::kBf16, kHeadDim));
    const std::vector<PlaceBlock> blocks = {{0, RowForm::kPacked, out.data},
                                            {50, RowForm::kBf16, out.data + 50 * RowBytes(RowForm::kPacked, kHeadDim)}};
    PlaceArgs args;
    args.packed = MakePacked(requests.size(), kHeadDim);
    args.rows = requests.size();
    args.head_dim = kHeadDim;
    args.requests = Upload(requests);
    args.blocks = Upload(blocks);
    args.block_count = 2;
    args.shape = ShapeOf(blocks);
    EXPECT_TRUE(LaunchPlace(args, stream()).ok());
    return Read(out);
  }
};

TEST_F(Kernels, NoThreadDependsOnAnother) {
  const std::vector<uint8_t> packed = GatherSome(RowForm::kPacked);
  const std::vector<uint8_t> bf16 = GatherSome(RowForm::kBf16);
  const std::vector<uint8_t> placed = PlaceSome();
  for (const uint64_t threads : {1, 2, 3, 31, 256, 1000, 5000}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      cuda_double::SetThreadOrder({seed, threads});
      ASSERT_EQ(GatherSome(RowForm::kPacked), packed) << threads << " threads, seed " << seed;
      ASSERT_EQ(GatherSome(RowForm::kBf16), bf16) << threads << " threads, seed " << seed;
      ASSERT_EQ(PlaceSome(), placed) << threads << " threads, seed " << seed;
    }
  }
}

// Room that is there when it is touched: the rows gathered lie 64 GiB apart.
TEST_F(Kernels, RowsBeyondTwoToThe31) {
  constexpr uint64_t kBegin = 5;
  constexpr uint64_t kEnd = kBegin + (uint64_t{1} << 31) + 100;
  constexpr uint64_t kBytes = (kEnd - kBegin) * 33;
  void* room = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) GTEST_SKIP() << "no room for " << kBytes << " bytes of addresses";
  ASSERT_EQ(cudaHostRegister(room, kBytes, cudaHostRegisterMapped), cudaSuccess);
  auto* codes = static_cast<uint8_t*>(room);
  CheckFarRows(codes, codes + (kEnd - kBegin) * 32, kBegin, kEnd);
  EXPECT_EQ(cudaHostUnregister(room), cudaSuccess);
  EXPECT_EQ(munmap(room, kBytes), 0);
}

TEST(KernelBodies, AddressesAreSixtyFourBitsWide) {
  const auto* base = reinterpret_cast<const uint8_t*>(uint64_t{1} << 45);
  DequantizeArgs args;
  args.packed = base;
  args.head_dim = 256;
  args.out = nullptr;
  const RowMove move = MoveOf(args, RowForm::kBf16, uint64_t{1} << 33, 0);
  EXPECT_EQ(move.from.codes, (uint64_t{1} << 45) + (uint64_t{264} << 33));
  EXPECT_EQ(move.from.scales, (uint64_t{1} << 45) + (uint64_t{264} << 33) + 256);
  EXPECT_EQ(move.out, uint64_t{512} << 33);
}

TEST(KernelBodies, DividesByAnything) {
  std::mt19937_64 random(3);
  for (const uint64_t divisor :
       {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{17}, uint64_t{24}, uint64_t{1} << 40}) {
    for (int i = 0; i < 1000; ++i) {
      const uint64_t value = random() >> i % 64;
      const Division division = Divider(divisor)(value);
      ASSERT_EQ(division.quotient, value / divisor) << value << " / " << divisor;
      ASSERT_EQ(division.remainder, value % divisor) << value << " / " << divisor;
    }
  }
}

TEST(BlocksFor, AsManyAsNeededUpToAFullGpu) {
  EXPECT_EQ(BlocksFor(1, 100), 1u);
  EXPECT_EQ(BlocksFor(256, 100), 1u);
  EXPECT_EQ(BlocksFor(257, 100), 2u);
  EXPECT_EQ(BlocksFor(400 * 256, 100), 400u);
  EXPECT_EQ(BlocksFor(uint64_t{1} << 50, 100), 400u);
}

// What a kernel may not touch ends its device, as on a card: rows of another device, outputs too short.
class BadMemory : public ::testing::Test {
 protected:
  void SetUp() override { cuda_double::Install({}); }
  void TearDown() override { cuda_double::Install({}); }

  static std::string DequantizeTo(int device, uint64_t out_bytes) {
    const DeviceBuffer packed = DeviceBuffer::Allocate(0, 2 * 33, "rows").value();
    const DeviceBuffer out = DeviceBuffer::Allocate(device, out_bytes, "output").value();
    const Stream stream = Stream::Create(0).value();
    DequantizeArgs args;
    args.packed = reinterpret_cast<const uint8_t*>(packed.data());
    args.rows = 2;
    args.head_dim = 32;
    args.out = reinterpret_cast<uint8_t*>(out.data());
    EXPECT_TRUE(LaunchDequantize(args, stream.get()).ok());
    return stream.Await("the kernel", InAMinute()).ToString();
  }
};

TEST_F(BadMemory, OfTheRightDeviceAndLongEnoughIsGood) { EXPECT_EQ(DequantizeTo(0, 128), "OK"); }

TEST_F(BadMemory, OfAnotherDevice) { EXPECT_THAT(DequantizeTo(1, 128), HasSubstr("cudaErrorIllegalAddress")); }

TEST_F(BadMemory, TooShort) { EXPECT_THAT(DequantizeTo(0, 127), HasSubstr("cudaErrorIllegalAddress")); }

}  // namespace
}  // namespace engram
