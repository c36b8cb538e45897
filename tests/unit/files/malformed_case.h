// A table of spoilt inputs: what each must be refused with.

#ifndef ENGRAM_TESTS_UNIT_FILES_MALFORMED_CASE_H_
#define ENGRAM_TESTS_UNIT_FILES_MALFORMED_CASE_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace engram {

// `Sample` is a valid model; `spoil` makes it invalid.
template <typename Sample>
struct MalformedCase {
  std::string name;
  std::function<void(Sample&)> spoil;
  absl::StatusCode code;
  std::string named;  // part of the message: what is at fault

  friend std::ostream& operator<<(std::ostream& out, const MalformedCase& one) { return out << one.name; }
};

template <typename Case>
std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

inline void ExpectRefused(const absl::Status& status, absl::StatusCode code, const std::string& named) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(named));
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_FILES_MALFORMED_CASE_H_
