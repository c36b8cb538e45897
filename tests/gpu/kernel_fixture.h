// What the kernels' cases share: a device with a stream, outputs whose surroundings are watched, tables with content of
// their own, and rows by the definition. The same cases run in the double and on a card.

#ifndef ENGRAM_TESTS_GPU_KERNEL_FIXTURE_H_
#define ENGRAM_TESTS_GPU_KERNEL_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/kernels.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram {

// Every output holds this before a launch, and on both sides of it.
inline constexpr uint8_t kPoison = 0xC3;

// Byte `at` of a packed row: every value occurs, NaN codes too.
uint8_t RowByte(size_t layer, uint64_t row, size_t at);

// The definition, in doubles; shares nothing with the library.
uint16_t DequantizeByDefinition(uint8_t code, uint8_t scale);

// A row in that form.
std::vector<uint8_t> RowByDefinition(RowForm form, size_t layer, uint64_t row, uint32_t head_dim);
size_t RowBytes(RowForm form, uint32_t head_dim);

// Rows of device memory that a kernel is to write, `offset` bytes behind a multiple of 16.
struct Output {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
  size_t buffer = 0;
};

class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override;

  template <typename T>
  T* Upload(const std::vector<T>& values) {
    return reinterpret_cast<T*>(UploadBytes(values.data(), values.size() * sizeof(T)));
  }
  Output MakeOutput(uint64_t bytes, uint64_t offset = 0);

  // Waits for the stream; expects the poison around the output untouched.
  std::vector<uint8_t> Read(const Output& output);
  void Overwrite(void* device, const void* host, uint64_t bytes);

  // Rows [begin, end) of RowByte.
  DeviceRows MakeRows(size_t layer, uint64_t begin, uint64_t end, uint32_t head_dim);
  // Rows [0, count) of layer 0, packed.
  const uint8_t* MakePacked(uint64_t count, uint32_t head_dim);

  // Gathers the first and the last rows of [begin, end) of layer 0, at 32 codes a row, from memory as large as that.
  void CheckFarRows(uint8_t* codes, uint8_t* scales, uint64_t begin, uint64_t end);

  cudaStream_t stream() const { return stream_.get(); }
  void Finish();

 private:
  std::byte* UploadBytes(const void* data, uint64_t bytes);

  Stream stream_;
  std::vector<DeviceBuffer> buffers_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_KERNEL_FIXTURE_H_
