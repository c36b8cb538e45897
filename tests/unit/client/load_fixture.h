// Runs of load against a plain service in this process.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_LOAD_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_LOAD_FIXTURE_H_

#include <gtest/gtest.h>

#include <utility>

#include "client/load/run.h"
#include "client/tool/load_check.h"
#include "tests/unit/client/golden_oracle.h"
#include "tests/unit/client/plain_service.h"

namespace engram {

// Short runs of golden case tiny in which every answer is checked.
class LoadRunTest : public ::testing::Test {
 protected:
  explicit LoadRunTest(PlainFaults faults = {}) : oracle_(OpenCase("tiny")), service_(oracle_, faults) {
    options_.server = service_.Description().address;
    options_.duration = absl::Milliseconds(300);
    options_.warm_up = absl::Milliseconds(20);
    options_.check = MakeAnswerCheck(oracle_, v1::ROW_FORMAT_PACKED, {});
    options_.verify_fraction = 1;
  }

  LoadReport Go() {
    absl::StatusOr<LoadReport> report = RunLoad(options_);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : LoadReport();
  }

  Oracle oracle_;
  PlainService service_;
  LoadOptions options_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_LOAD_FIXTURE_H_
