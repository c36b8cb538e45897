// How long the device takes for what is put on a stream, by events on that stream.

#ifndef ENGRAM_TESTS_GPU_BENCH_DEVICE_TIMER_H_
#define ENGRAM_TESTS_GPU_BENCH_DEVICE_TIMER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "shard/gpu/device_memory.h"

namespace engram::bench {

// Seconds of one launch, [repetitions]: in each repetition the stream does `launches` of them between two events. One
// launch goes before, unmeasured.
absl::StatusOr<std::vector<double>> TimeLaunches(const Stream& stream, int repetitions, int launches,
                                                 absl::FunctionRef<absl::Status()> launch);

// So many that a repetition moves about 256 MiB: an event's own time is not seen any more. At most 100.
int LaunchesFor(uint64_t bytes_of_a_launch);

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_DEVICE_TIMER_H_
