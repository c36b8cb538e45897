// Parts of the benchmark in processes of their own: each begins with a fresh device, and a lost one takes its own part
// with it alone.

#ifndef ENGRAM_TESTS_GPU_BENCH_SECTIONS_H_
#define ENGRAM_TESTS_GPU_BENCH_SECTIONS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "shard/collective.h"
#include "tests/gpu/bench/report.h"

namespace engram::bench {

// Runs `body` on ranks that are processes, as RunRankProcesses, and returns what rank 0 made of `json`. INTERNAL with
// what went wrong, and what the ranks said.
absl::StatusOr<Json> RunSection(int ranks, absl::Duration limit,
                                const std::function<absl::Status(Collective&, Json& json)>& body);

// The card of device 0, driver and libraries, as the document begins.
absl::Status DescribeMachine(Json& json);

}  // namespace engram::bench

#endif  // ENGRAM_TESTS_GPU_BENCH_SECTIONS_H_
