// What every Collective must do; see collective_contract.cc. A program that links it says how ranks come to life.

#ifndef ENGRAM_TESTS_CONTRACT_COLLECTIVE_CONTRACT_H_
#define ENGRAM_TESTS_CONTRACT_COLLECTIVE_CONTRACT_H_

#include <gtest/gtest.h>

#include <functional>

#include "shard/collective.h"

namespace engram {

// Runs `body` once on each of `ranks` ranks and returns when those of this process are done. Defined by the program.
void RunOnRanks(int ranks, const std::function<void(Collective&)>& body);

// The parameter: how many ranks.
class CollectiveContract : public testing::TestWithParam<int> {
 protected:
  static void Run(const std::function<void(Collective&)>& body) { RunOnRanks(GetParam(), body); }
};

}  // namespace engram

#endif  // ENGRAM_TESTS_CONTRACT_COLLECTIVE_CONTRACT_H_
