// The figures of one device, in the process that calls: what the memory can do, then what the kernels do with it.

#ifndef ENGRAM_TESTS_GPU_BENCH_DEVICE_BENCH_H_
#define ENGRAM_TESTS_GPU_BENCH_DEVICE_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/device_rows.h"
#include "tests/gpu/bench/content.h"
#include "tests/gpu/bench/options.h"
#include "tests/gpu/bench/report.h"

namespace engram::bench {

// What the memory of the device and the bus can do. Bytes a second.
struct CopyRates {
  double device = 0;     // read and written
  double to_host = 0;    // moved, to pinned memory
  double to_device = 0;  // moved
};

// Measures on device 0 and adds the rows docs/gpu.md lists under "one device". DATA_LOSS naming a row of an answer that
// is not what it must be; errors of api.h.
absl::Status BenchDevice(const BenchOptions& options, BenchReport& report);

// --- The parts, each of which adds its rows.

absl::StatusOr<CopyRates> BenchCopies(const BenchOptions& options, const Stream& stream, BenchReport& report);

// A table of layer 1 that a GPU reads. `placement`: DEVICE or HOST_PINNED.
class BenchTable {
 public:
  static absl::StatusOr<BenchTable> Make(Placement placement, uint64_t bytes, const Stream& stream);

  Placement placement() const { return placement_; }
  const DeviceRows& rows() const { return rows_; }

 private:
  BenchTable(Placement placement, DeviceBuffer memory, PinnedBuffer pinned, DeviceRows rows)
      : placement_(placement), memory_(std::move(memory)), pinned_(std::move(pinned)), rows_(rows) {}

  Placement placement_;
  DeviceBuffer memory_;
  PinnedBuffer pinned_;
  DeviceRows rows_;
};

// Rows at random from the table, in launches of several sizes and both forms.
absl::Status BenchGathers(const BenchOptions& options, const BenchTable& table, const CopyRates& rates,
                          const Stream& stream, BenchReport& report);

// Dequantising and placing the rows of the largest round, as OWNER_GATHER does at the front end; hashing.
absl::Status BenchRoundKernels(const BenchOptions& options, const Stream& stream, BenchReport& report);
absl::Status BenchHash(const BenchOptions& options, const Stream& stream, BenchReport& report);

// --- What they share.

// Host values on the device. Done when it returns.
absl::StatusOr<DeviceBuffer> UploadBytes(absl::Span<const std::byte> bytes, const Stream& stream);
template <typename T>
absl::StatusOr<DeviceBuffer> UploadValues(const std::vector<T>& values, const Stream& stream) {
  return UploadBytes({reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)}, stream);
}
absl::Status DownloadBytes(const void* device, absl::Span<std::byte> bytes, const Stream& stream);

// Up to 256 places of [0, count), from `seed`; the first and the last are among them.
std::vector<uint64_t> PlacesToCheck(uint64_t count, uint64_t seed);

// [count], each below `bound`.
std::vector<uint64_t> RandomIds(uint64_t count, uint64_t bound, uint64_t seed);

// Holds rows at PlacesToCheck of an output against what they must be: output row i is row rows[i] of layer 1. Returns
// how many were looked at; DATA_LOSS naming the first that differs.
absl::StatusOr<uint64_t> CheckRows(const uint8_t* device_out, RowForm form, absl::Span<const uint64_t> rows,
                                   const Stream& stream);

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_DEVICE_BENCH_H_
