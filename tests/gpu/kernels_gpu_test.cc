// The kernels on a card, beyond the cases that run in the double too: rows far into real device memory.

#include "tests/gpu/kernel_fixture.h"

namespace engram {
namespace {

class KernelsOnACard : public KernelTest {};

TEST_F(KernelsOnACard, RowsFarIntoDeviceMemory) {
  constexpr uint64_t kBegin = 5;
  constexpr uint64_t kSpareBytes = uint64_t{1} << 30;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  // More than 2^31 rows where the card has room for them, else more than 2^32 bytes.
  uint64_t rows = (uint64_t{1} << 31) + 100;
  if (rows * 33 + kSpareBytes > free_bytes) rows = (uint64_t{1} << 27) + 100;
  if (rows * 33 + kSpareBytes > free_bytes) GTEST_SKIP() << "only " << free_bytes << " bytes free on the device";
  const absl::StatusOr<DeviceBuffer> codes = DeviceBuffer::Allocate(0, rows * 32, "codes");
  const absl::StatusOr<DeviceBuffer> scales = DeviceBuffer::Allocate(0, rows, "scales");
  ASSERT_TRUE(codes.ok()) << codes.status();
  ASSERT_TRUE(scales.ok()) << scales.status();
  CheckFarRows(reinterpret_cast<uint8_t*>(codes->data()), reinterpret_cast<uint8_t*>(scales->data()), kBegin,
               kBegin + rows);
}

}  // namespace
}  // namespace engram
