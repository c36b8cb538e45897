// The contract between processes: run under mpirun, every rank running every test.
//
// Usage: mpirun -np N mpi_contract [shared|poll|parts]
//   shared as a server runs (default); poll: without shared memory; parts: messages cut every 1000 bytes.

#include <cstdio>
#include <memory>
#include <string>

#include "shard/launcher.h"
#include "shard/mpi_runtime.h"
#include "tests/contract/collective_contract.h"

namespace engram {
namespace {

std::unique_ptr<MpiRuntime> runtime;

INSTANTIATE_TEST_SUITE_P(Mpi, CollectiveContract, testing::Values(LaunchedRanks().value_or(1)));

}  // namespace

void RunOnRanks(int /*ranks*/, const std::function<void(Collective&)>& body) { body(runtime->collective()); }

}  // namespace engram

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string kind = argc > 1 ? argv[1] : "shared";  // what gtest left
  engram::MpiOptions options;
  options.share_memory = kind != "poll";
  if (kind == "parts") options.part_bytes_max = 1000;
  absl::StatusOr<std::unique_ptr<engram::MpiRuntime>> joined = engram::MpiRuntime::Join(options);
  if (!joined.ok()) {
    std::fprintf(stderr, "%s\n", joined.status().ToString().c_str());
    return 2;
  }
  engram::runtime = *std::move(joined);
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) engram::MpiRuntime::Abort(1);
  engram::runtime->Finish();
  std::printf("rank %d passed\n", engram::runtime->collective().rank());
  return 0;
}
