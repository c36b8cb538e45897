// The paths whose instructions are counted (instructions.py): each does a fixed amount of work, always the same.

#ifndef ENGRAM_TESTS_BENCH_COUNTED_PATHS_H_
#define ENGRAM_TESTS_BENCH_COUNTED_PATHS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/files/checkpoint.h"

namespace engram {

// Life cycle: construct, Run twice (the first time for whatever is done once), destroy. One thread.
class CountedPath {
 public:
  virtual ~CountedPath() = default;
  virtual void Run() = 0;
  virtual uint64_t units() const = 0;  // of work in one Run
};

// 24 columns, 256 codes a row, two layers of some 24,000 rows: the released shape but for the number of rows.
Checkpoint CountedModel();

// Both layers of a token; tokens of one sequence.
std::unique_ptr<CountedPath> MakeHashPath();
// RowWriter on rows in memory.
std::unique_ptr<CountedPath> MakePackedGatherPath();
std::unique_ptr<CountedPath> MakeBf16GatherPath();
// RowPlan for four ranks; a row of both layers' blocks is a unit.
std::unique_ptr<CountedPath> MakePlanPath();
// UniqueIds on ids of which half are there before; an id is a unit.
std::unique_ptr<CountedPath> MakeUniquePath();
// A step of one token through StreamCall and Scheduler, without gRPC and without rows: decoded, admitted, hashed,
// framed.
std::unique_ptr<CountedPath> MakeStepPath();

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_COUNTED_PATHS_H_
