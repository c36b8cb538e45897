// What the memory of the device and the bus can do, by the runtime's own copies.

#include <algorithm>
#include <vector>

#include "model/files/errors.h"
#include "tests/gpu/bench/device_bench.h"
#include "tests/gpu/bench/device_timer.h"

namespace engram::bench {
namespace {

struct Copy {
  const char* name;
  void* to;
  const void* from;
  uint64_t bytes;
  cudaMemcpyKind kind;
  uint64_t counted;  // bytes, as the figure has them
};

// Returns the median rate, bytes a second.
absl::StatusOr<double> BenchCopy(const Copy& copy, int repetitions, const Stream& stream, BenchReport& report) {
  const auto launch = [&]() -> absl::Status {
    ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, copy.kind, stream.get()));
    return absl::OkStatus();
  };
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<double> seconds, TimeLaunches(stream, repetitions, 1, launch));
  const Samples rates = RatesOf(static_cast<double>(copy.counted) / 1e9, seconds);
  report.Add(copy.name, {{"bytes", copy.bytes}}, "GB/s", rates);
  return rates.median * 1e9;
}

absl::Status Poison(const DeviceBuffer& buffer, const Stream& stream) {
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(buffer.data(), 0x5A, buffer.size(), stream.get()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CopyRates> BenchCopies(const BenchOptions& options, const Stream& stream, BenchReport& report) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
  const uint64_t bytes = std::min<uint64_t>(options.copy_bytes, free_bytes / 4);
  const uint64_t host_bytes = std::min(options.host_copy_bytes, bytes);
  ENGRAM_ASSIGN_OR_RETURN(const DeviceBuffer from, DeviceBuffer::Allocate(stream.device(), bytes, "copied"));
  ENGRAM_ASSIGN_OR_RETURN(const DeviceBuffer to, DeviceBuffer::Allocate(stream.device(), bytes, "copy"));
  ENGRAM_ASSIGN_OR_RETURN(const PinnedBuffer host, PinnedBuffer::Allocate(stream.device(), host_bytes, "host's copy"));
  ENGRAM_RETURN_IF_ERROR(Poison(from, stream));
  ENGRAM_RETURN_IF_ERROR(Poison(to, stream));
  const Copy on_device = {"copy_device", to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, 2 * bytes};
  const Copy to_host = {"copy_to_host", host.data(), from.data(), host_bytes, cudaMemcpyDeviceToHost, host_bytes};
  const Copy to_device = {"copy_to_device", to.data(), host.data(), host_bytes, cudaMemcpyHostToDevice, host_bytes};
  CopyRates rates;
  ENGRAM_ASSIGN_OR_RETURN(rates.device, BenchCopy(on_device, options.repetitions, stream, report));
  ENGRAM_ASSIGN_OR_RETURN(rates.to_host, BenchCopy(to_host, options.repetitions, stream, report));
  ENGRAM_ASSIGN_OR_RETURN(rates.to_device, BenchCopy(to_device, options.repetitions, stream, report));
  return rates;
}

}  // namespace engram::bench
