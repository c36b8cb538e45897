// Makes up steps, and keeps its own account of every sequence so that it knows what each step must bring back.

#ifndef ENGRAM_CLIENT_TOOL_TRAFFIC_H_
#define ENGRAM_CLIENT_TOOL_TRAFFIC_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/step_result.h"
#include "client/tool/expected_step.h"
#include "client/tool/token_source.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

struct TrafficOptions {
  uint64_t seed = 1;
  std::vector<v1::RowFormat> formats;  // at least one
  v1::Limits limits;                   // of the server; a 0 is no limit
  bool fork = false;                   // the server takes ForkFrom
};

// What a step brings back, and what its segments leave behind for a hand-over.
struct PlannedStep {
  v1::StepRequest request;
  ExpectedStep expected;
  std::vector<Sequence> exports;  // with return_states: each segment's sequence up to its end
  uint64_t reply_bytes = 0;       // of rows or row ids, at most
};

// Random traffic of many sequences: chunks of any size (none too), masks, rewinds and rejected drafts, pure rollback,
// hand-over by state and by look-back, stateless segments, forks, refused segments among good ones, subsets of layers,
// closed sessions. The steps must be submitted in the order they are made. Not thread-safe.
class Traffic {
 public:
  // `source` gives the sequences' tokens; all arguments must outlive it.
  Traffic(const Geometry& geometry, const HashConstants& constants, const std::string& constants_digest,
          TokenSource& source, TrafficOptions options);

  PlannedStep Next();

  // The states that a step exported may seed later sessions.
  void TakeStates(const PlannedStep& planned, const StepResult& result);

 private:
  struct Live {
    Sequence sequence;        // all positions from 0, also those that only this side knows
    uint64_t known_from = 0;  // what the server knows begins here
  };
  using Sessions = std::map<uint64_t, Live>;

  bool Chance(double probability);
  uint64_t Below(uint64_t bound);
  size_t ChunkTokens(uint64_t budget);
  Sessions::iterator AnyIdle();

  void AddSegment(PlannedStep& step, uint64_t budget);
  void AddContinuation(PlannedStep& step, Live& live, uint64_t session_id, uint64_t start_pos, size_t tokens);
  bool AddToIdle(PlannedStep& step, uint64_t budget);
  bool AddRefused(PlannedStep& step);
  void AddNew(PlannedStep& step, uint64_t session_id, uint64_t budget);
  bool AddFork(PlannedStep& step, uint64_t session_id, uint64_t budget);
  bool AddHandover(PlannedStep& step, uint64_t session_id, uint64_t budget);
  void SeedLast(PlannedStep& step, const Sequence& before);
  v1::Lookback LookbackOf(const Sequence& before);
  void CloseSome(PlannedStep& step);
  void Keep(uint64_t session_id, Live live);

  const Geometry& geometry_;
  const HashConstants& constants_;
  const std::string& constants_digest_;
  TokenSource& source_;
  const TrafficOptions options_;
  const size_t lookback_max_;
  const uint64_t step_tokens_max_;
  const uint64_t session_tokens_max_;

  TrafficRandom random_;
  uint64_t last_session_id_ = 0;
  Sessions sessions_;
  std::set<uint64_t> used_;  // sessions of the step being made
  std::vector<std::pair<Sequence, v1::HashState>> exported_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_TRAFFIC_H_
