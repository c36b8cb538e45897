// What `engram verify` prints.

#include <gtest/gtest.h>

#include "client/tool/comparer.h"
#include "client/tool/planned_step.h"
#include "client/tool/verify_run.h"

namespace engram {
namespace {

TEST(SummaryTest, KeepsItsWording) {
  CompareCounts counts;
  EXPECT_EQ(Summary(counts), "0 steps, 0 rows, 0 mismatches");
  counts.steps = counts.rows = counts.mismatches = 1;
  EXPECT_EQ(Summary(counts), "1 steps, 1 rows, 1 mismatches");
  EXPECT_EQ(NonzeroPercentage(counts), "no rows");
  counts.table_rows = 100000;
  counts.nonzero_rows = 99999;
  EXPECT_EQ(NonzeroPercentage(counts), "99.99 %");
  counts.nonzero_rows = 100000;
  EXPECT_EQ(NonzeroPercentage(counts), "100.00 %");
}

TEST(TrafficCountsTest, AddUpAndSayWhatTheyCount) {
  TrafficCounts counts{.forks = 7,
                       .foreign_forks = 6,
                       .trees = 5,
                       .draft_blocks = 4,
                       .draft_tokens = 3,
                       .rejected_tokens = 2,
                       .moves = 1};
  counts += counts;
  EXPECT_EQ(Describe(counts),
            "14 forks (12 of other clients, 10 draft trees), 8 draft blocks (4 of 6 tokens rejected), 2 moves between "
            "servers");
}

}  // namespace
}  // namespace engram
