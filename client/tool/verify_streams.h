// Random traffic over many streams at once, each on a thread of its own.

#ifndef ENGRAM_CLIENT_TOOL_VERIFY_STREAMS_H_
#define ENGRAM_CLIENT_TOOL_VERIFY_STREAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/tool/checkpoint_sequences.h"
#include "client/tool/comparer.h"
#include "client/tool/oracle.h"
#include "client/tool/planned_step.h"
#include "client/tool/verify_servers.h"

namespace engram {

struct StreamsOptions {
  size_t streams = 1;
  std::optional<size_t> in_flight;  // steps under way on each stream; none: 1 to 8, changing
  std::optional<double> forks;      // share of segments that fork; none: now and then
  double cancel = 0;                // share of steps that are cancelled
  bool speculative = false;
  bool shared_memory = false;                          // rows come there; a server that has none is an error
  bool unique_rows = false;                            // rows that a frame has several times are sent once
  uint64_t seed = 1;                                   // of the first stream; the others' follow from it
  uint64_t steps = 0;                                  // of all streams; 0: no such bound
  absl::Duration duration = absl::InfiniteDuration();  // once all streams have connected
};

struct StreamsReport {
  absl::Status status;         // what ended the run early; DEADLINE_EXCEEDED where no step was compared
  std::string first_mismatch;  // of the lowest stream that has one; names the stream where there are several
  CompareCounts counts;        // of all streams
  TrafficCounts traffic;
};

// FAILED_PRECONDITION naming the flag and the server that does not know what it asks for.
absl::Status CheckCapabilities(const ServerUnderTest& server, const StreamsOptions& options);

// Each stream connects to every server and moves its sequences between them. Rows under way, all streams together, stay
// below 1 GiB: the more streams and steps in flight, the smaller the steps.
//
// One stream is private. Of several, and with `forks`, two of four share a client_id, one has its own and one is
// private; streams with a client_id leave finished sessions for all others to fork from.
StreamsReport RunStreams(const Oracle& oracle, const CheckpointSequences& sequences,
                         const std::vector<ServerUnderTest>& servers, const StreamsOptions& options);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_VERIFY_STREAMS_H_
