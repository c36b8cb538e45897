// Makes up steps, and keeps its own account of every sequence so that it knows what each step must bring back.

#ifndef ENGRAM_CLIENT_TOOL_TRAFFIC_H_
#define ENGRAM_CLIENT_TOOL_TRAFFIC_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/step_result.h"
#include "client/tool/handovers.h"
#include "client/tool/oracle.h"
#include "client/tool/planned_step.h"
#include "client/tool/session_board.h"
#include "client/tool/token_source.h"
#include "engram/v1/engram.pb.h"

namespace engram {

struct TrafficOptions {
  uint64_t seed = 1;
  std::vector<v1::RowFormat> formats;             // at least one
  v1::Limits limits;                              // of the server; a 0 is no limit
  uint64_t reply_bytes_max = uint64_t{32} << 20;  // of one step, unless a single token has more
  bool fork = false;                              // the server takes ForkFrom
  std::optional<double> forks;                    // share of segments that fork; none: now and then
  bool unique_rows = false;                       // StepRequest.unique_rows of every step for rows
  bool speculative = false;                       // draft blocks, of which a part is rejected
  std::string client_id;                          // of the stream; empty: private, so that no other can fork from it
  uint64_t session_ids_from = 0;                  // sessions get larger ids, 2^32 of them
  size_t server = 0;                              // number of the server this traffic goes to
  size_t servers = 1;                             // that the stream's sequences move between
};

// Random traffic of many sequences: chunks of any size (none too), masks, rewinds and rejected drafts, pure rollback,
// hand-over by state and by look-back, stateless segments, forks and draft trees, refused segments among good ones,
// subsets of layers, closed sessions. The steps must be submitted in the order they are made. Not thread-safe.
class Traffic {
 public:
  // `source` gives the sequences' tokens, `handovers` and `board` (null: none) what other traffic leaves; all
  // references must outlive it.
  Traffic(const Oracle& oracle, TokenSource& source, Handovers& handovers, SessionBoard* board, TrafficOptions options);

  PlannedStep Next();

  // To be called with each step's answer: exported states may seed later sessions, finished sessions may be read by
  // other streams.
  void TakeAnswer(const PlannedStep& planned, const StepResult& result);

  // Sessions not closed yet, for the end of a run: no traffic may fork from them any more.
  std::vector<uint64_t> OpenSessions() const;
  const TrafficCounts& counts() const { return counts_; }

 private:
  struct Live {
    Sequence sequence;         // all positions from 0, also those that only this side knows
    uint64_t known_from = 0;   // what the server knows begins here
    uint64_t block_begin = 0;  // of the last draft block; the length where there was none
  };
  using Sessions = std::map<uint64_t, Live>;
  // What a fork reads.
  struct ForkSource {
    uint64_t session_id = 0;
    std::string client_id;  // empty: this stream's
    bool foreign = false;   // of another client
    Live live;
    uint64_t start_pos = 0;
  };

  bool Chance(double probability);
  uint64_t Below(uint64_t bound);
  size_t ChunkTokens(uint64_t budget);
  Sessions::iterator AnyIdle();
  // Where a segment without a seed may start at the earliest.
  uint64_t Earliest(const Live& live) const;

  // traffic.cc
  void ChooseAnswer(PlannedStep& step);
  void AddSegment(PlannedStep& step, uint64_t budget, uint64_t room);
  void AddContinuation(PlannedStep& step, Live& live, uint64_t session_id, uint64_t start_pos, size_t tokens);
  void CloseSome(PlannedStep& step);

  // traffic_kinds.cc: what a segment may be
  bool AddToIdle(PlannedStep& step, uint64_t budget);
  bool AddDrafts(PlannedStep& step, uint64_t session_id, Live& live, uint64_t budget);
  bool AddRefused(PlannedStep& step);
  void AddNew(PlannedStep& step, uint64_t session_id, uint64_t budget);
  bool AddHandover(PlannedStep& step, uint64_t session_id, uint64_t budget);
  void SeedLast(PlannedStep& step, const Sequence& before);
  v1::Lookback LookbackOf(const Sequence& before);
  void Keep(uint64_t session_id, Live live);

  // traffic_forks.cc: sessions that read others
  std::optional<ForkSource> AnyForkSource(PlannedStep& step);
  void AddForked(PlannedStep& step, const ForkSource& source, uint64_t session_id, size_t tokens);
  bool AddFork(PlannedStep& step, uint64_t session_id, uint64_t budget);
  bool AddTree(PlannedStep& step, uint64_t budget, uint64_t room);
  bool Shares() const { return board_ != nullptr && !options_.client_id.empty(); }
  void Finish(PlannedStep& step, Sessions::iterator session);
  void WithdrawOld();
  void CloseUnread(PlannedStep& step);

  const Geometry& geometry_;
  const std::string& constants_digest_;
  TokenSource& source_;
  Handovers& handovers_;
  SessionBoard* const board_;
  const TrafficOptions options_;
  const size_t lookback_max_;
  const uint64_t step_tokens_max_;
  const uint64_t session_tokens_max_;

  TrafficRandom random_;
  TrafficCounts counts_;
  uint64_t last_session_id_;
  Sessions sessions_;
  std::set<uint64_t> used_;                    // sessions of the step being made
  std::deque<SessionBoard::Entry> published_;  // of this stream, oldest first
  std::vector<SessionBoard::Entry> withdrawn_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_TRAFFIC_H_
