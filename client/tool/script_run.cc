#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/tool/verify_run.h"

namespace engram {
namespace {

constexpr size_t kPrefillDepth = 4;

// The next chunk of a sequence: what is sent, what must come back.
PlannedStep PlanChunk(const Sequence& sequence, uint64_t session_id, uint64_t begin, uint64_t end, size_t lookback_max,
                      v1::RowFormat format) {
  const auto at = [](uint64_t position) { return static_cast<std::ptrdiff_t>(position); };
  PlannedStep step;
  step.request.set_format(format);
  step.expected.format = format;
  ExpectedSegment expected;
  expected.session_id = session_id;
  expected.start_pos = begin;
  expected.lookback = static_cast<size_t>(std::min<uint64_t>(begin, lookback_max));
  expected.tokens.assign(sequence.tokens.begin() + at(begin), sequence.tokens.begin() + at(end));
  expected.window.assign(sequence.ids.begin() + at(begin - expected.lookback), sequence.ids.begin() + at(end));

  v1::Segment& segment = *step.request.add_segments();
  segment.set_session_id(session_id);
  segment.set_start_pos(begin);
  segment.mutable_token_ids()->Add(expected.tokens.begin(), expected.tokens.end());
  if (std::count(expected.window.begin() + at(expected.lookback), expected.window.end(), kDead) > 0) {
    for (uint64_t i = begin; i < end; ++i) segment.mutable_token_mask()->push_back(sequence.ids[i] != kDead);
  }
  if (end == sequence.length()) step.request.add_close_sessions(session_id);
  step.expected.segments.push_back(std::move(expected));
  return step;
}

class ScriptRun {
 public:
  ScriptRun(Connection& connection, size_t lookback_max, Comparer& comparer, const ScriptOptions& options)
      : connection_(connection), lookback_max_(lookback_max), comparer_(comparer), options_(options) {}

  // Tokens [begin, end) in chunks, up to `depth` of them under way at a time; then, the clock stopped, compares them.
  absl::Status Stream(const Sequence& sequence, uint64_t session_id, uint64_t begin, uint64_t end, size_t chunk,
                      size_t depth, PhaseReport& phase) {
    while (begin < end) {
      std::vector<PlannedStep> steps;
      for (; begin < end && steps.size() < depth; begin = std::min<uint64_t>(end, begin + chunk)) {
        steps.push_back(PlanChunk(sequence, session_id, begin, std::min<uint64_t>(end, begin + chunk), lookback_max_,
                                  options_.format));
        steps.back().request.set_unique_rows(options_.unique_rows);
      }
      if (absl::Status status = RunSteps(steps, phase); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunSteps(const std::vector<PlannedStep>& steps, PhaseReport& phase) {
    const absl::Time start = absl::Now();
    std::vector<StepHandle> handles;
    for (const PlannedStep& step : steps) {
      absl::StatusOr<StepHandle> handle = connection_.Submit(step.request);
      if (!handle.ok()) return handle.status();
      handles.push_back(*std::move(handle));
    }
    std::vector<StepResult> results;
    for (StepHandle& handle : handles) {
      absl::StatusOr<StepResult> result = WaitPatiently(handle);
      if (!result.ok()) return result.status();
      results.push_back(*std::move(result));
    }
    phase.elapsed += absl::Now() - start;
    absl::Status status;
    for (size_t i = 0; i < steps.size() && status.ok(); ++i) status = comparer_.Compare(steps[i].expected, results[i]);
    phase.counts += comparer_.TakeCounts();
    return status;
  }

  Connection& connection_;
  const size_t lookback_max_;
  Comparer& comparer_;
  const ScriptOptions options_;
};

double PerSecond(uint64_t count, absl::Duration elapsed) {
  return elapsed > absl::ZeroDuration() ? static_cast<double>(count) / absl::ToDoubleSeconds(elapsed) : 0;
}

}  // namespace

absl::StatusOr<std::vector<PhaseReport>> RunPrefillDecode(Connection& connection,
                                                          const std::vector<Sequence>& sequences, size_t lookback_max,
                                                          Comparer& comparer, const ScriptOptions& options) {
  std::vector<PhaseReport> phases = {{"prefill", {}, {}}, {"decode", {}, {}}};
  ScriptRun run(connection, lookback_max, comparer, options);
  const uint32_t steps_max = connection.welcome().steps_in_flight_max();
  const size_t depth = steps_max == 0 ? kPrefillDepth : std::min<size_t>(kPrefillDepth, steps_max);
  uint64_t session_id = 0;
  for (const Sequence& sequence : sequences) {
    const uint64_t end = sequence.length();
    const uint64_t split = end - std::min<uint64_t>(end, options.decode_tokens);
    ++session_id;
    absl::Status status = run.Stream(sequence, session_id, 0, split, options.chunk_tokens, depth, phases[0]);
    if (status.ok()) status = run.Stream(sequence, session_id, split, end, 1, 1, phases[1]);
    if (!status.ok()) return status;
  }
  return phases;
}

std::string NonzeroPercentage(const CompareCounts& counts) {
  if (counts.table_rows == 0) return "no rows";
  // Rounded down: 100 must mean all of them.
  const uint64_t hundredths = counts.nonzero_rows * 10000 / counts.table_rows;
  return absl::StrFormat("%d.%02d %%", hundredths / 100, hundredths % 100);
}

std::string PhaseTable(const std::vector<PhaseReport>& phases) {
  PhaseReport sum;
  sum.name = "all";
  std::vector<PhaseReport> lines = phases;
  for (const PhaseReport& phase : phases) {
    sum.counts += phase.counts;
    sum.elapsed += phase.elapsed;
  }
  lines.push_back(sum);
  std::string table = absl::StrFormat("%-8s %8s %8s %10s %14s %9s %10s %13s %10s\n", "phase", "steps", "tokens", "rows",
                                      "bytes", "seconds", "tokens/s", "non-zero rows", "mismatches");
  for (const PhaseReport& line : lines) {
    const CompareCounts& counts = line.counts;
    absl::StrAppendFormat(&table, "%-8s %8d %8d %10d %14d %9.3f %10.0f %13s %10d\n", line.name, counts.steps,
                          counts.tokens, counts.rows, counts.bytes, absl::ToDoubleSeconds(line.elapsed),
                          PerSecond(counts.tokens, line.elapsed), NonzeroPercentage(counts), counts.mismatches);
  }
  return table;
}

}  // namespace engram
