#include "client/tool/load_check.h"

#include <memory>
#include <utility>

#include "client/tool/expected_step.h"

namespace engram {
namespace {

ExpectedSegment ExpectedOf(const LoadSegment& sent, const std::vector<int32_t>& token_map) {
  ExpectedSegment expected;
  expected.session_id = sent.session_id;
  expected.start_pos = sent.start_pos;
  expected.lookback = sent.lookback.size();
  expected.tokens = sent.tokens;
  for (const uint32_t token : sent.lookback) expected.window.push_back(token_map[token]);
  for (const uint32_t token : sent.tokens) expected.window.push_back(token_map[token]);
  return expected;
}

}  // namespace

AnswerCheck MakeAnswerCheck(const Oracle& oracle, v1::RowFormat format, ComparerOptions options) {
  auto comparer = std::make_shared<Comparer>(oracle, options);
  return [&oracle, format, comparer](const LoadStep& step, const StepResult& result) -> absl::StatusOr<uint64_t> {
    ExpectedStep expected;
    expected.format = format;
    for (const LoadSegment& sent : step.segments) {
      expected.segments.push_back(ExpectedOf(sent, oracle.constants().token_map));
      const size_t index = expected.segments.size() - 1;
      if (index < result.segments.size()) expected.segments.back().code = result.segments[index].code();
    }
    if (absl::Status status = comparer->Compare(expected, result); !status.ok()) return status;
    const CompareCounts counts = comparer->TakeCounts();
    if (counts.mismatches > 0) return absl::DataLossError(comparer->first_mismatch());
    return counts.rows;
  };
}

}  // namespace engram
