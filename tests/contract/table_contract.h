// What every Table must do; see table_contract.cc. A program that links it says how tables are made, and instantiates
// the suite with its placements.

#ifndef ENGRAM_TESTS_CONTRACT_TABLE_CONTRACT_H_
#define ENGRAM_TESTS_CONTRACT_TABLE_CONTRACT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "shard/load_meter.h"
#include "shard/table.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {

// Why this machine cannot run the suite; empty when it can. Defined by the program.
std::string MissingForTables();

// As MakeTable of shard/table_factory.h. Defined by the program.
absl::StatusOr<std::unique_ptr<Table>> MakeTableOfTest(Placement placement, const TableFiles& files, ShardRange range,
                                                       uint32_t head_dim, LoadMeter& meter);

// The parameter: placement, layout of the files, head_dim.
class TableContract : public testing::TestWithParam<std::tuple<Placement, FileLayout, uint32_t>> {
 protected:
  void SetUp() override;

  static Placement placement() { return std::get<0>(GetParam()); }
  static FileLayout layout() { return std::get<1>(GetParam()); }
  static uint32_t head_dim() { return std::get<2>(GetParam()); }

  // Rows `range` of a new table of `rows` rows; null after a failure.
  std::unique_ptr<Table> Open(uint64_t rows, ShardRange range);

  TempFolder folder_;
  Checkpoint checkpoint_;
};

// Every layout; rows of 33 and 99 bytes at odd offsets keep nothing aligned.
inline auto EveryTable(Placement one, Placement other) {
  return testing::Combine(testing::Values(one, other),
                          testing::Values(FileLayout::kApart, FileLayout::kPacked, FileLayout::kSpaced),
                          testing::Values(32u, 96u, 256u));
}

}  // namespace engram

#endif  // ENGRAM_TESTS_CONTRACT_TABLE_CONTRACT_H_
