// The files of a golden case, opened as `engram verify` does.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_GOLDEN_ORACLE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_GOLDEN_ORACLE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client/tool/oracle.h"
#include "tests/golden/golden_case.h"

namespace engram {

// A golden case's name, or the path of a checkpoint made from "tiny".
inline Oracle OpenCase(const std::string& name) {
  const bool path = name.find('/') != std::string::npos;
  auto oracle = Oracle::Open(path ? name : GoldenPath(name + "_checkpoint"),
                             GoldenPath((path ? "tiny" : name) + "_constants.gguf"));
  EXPECT_TRUE(oracle.ok()) << oracle.status();
  return *std::move(oracle);
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_GOLDEN_ORACLE_H_
