// A step as Traffic made it up.

#ifndef ENGRAM_CLIENT_TOOL_PLANNED_STEP_H_
#define ENGRAM_CLIENT_TOOL_PLANNED_STEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/tool/expected_step.h"
#include "client/tool/session_board.h"
#include "client/tool/token_source.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// What a step brings back, and what it leaves behind once it is answered.
struct PlannedStep {
  v1::StepRequest request;
  ExpectedStep expected;
  uint64_t tokens = 0;                        // of all segments
  uint64_t reply_bytes = 0;                   // of rows or row ids, at most
  std::vector<Sequence> exports;              // with return_states: each segment's sequence up to its end
  std::vector<SessionBoard::Entry> reads;     // sessions of others that it forks from
  std::vector<SessionBoard::Entry> finished;  // sessions that nothing after it writes
};

// What random traffic was made of.
struct TrafficCounts {
  uint64_t forks = 0;            // segments with fork_from, those of trees too
  uint64_t foreign_forks = 0;    // of them: from a session of another client
  uint64_t trees = 0;            // several stateless paths from one prefix in one step
  uint64_t draft_blocks = 0;     // of speculative decoding
  uint64_t draft_tokens = 0;     // of those blocks
  uint64_t rejected_tokens = 0;  // of those tokens: overwritten by the block after
  uint64_t moves = 0;            // sequences that went on at another server

  TrafficCounts& operator+=(const TrafficCounts& other);
};

// One line.
std::string Describe(const TrafficCounts& counts);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_PLANNED_STEP_H_
