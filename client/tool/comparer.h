// Compares answers with what the Oracle takes from the files, byte by byte, and counts.

#ifndef ENGRAM_CLIENT_TOOL_COMPARER_H_
#define ENGRAM_CLIENT_TOOL_COMPARER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "client/step_result.h"
#include "client/tool/expected_step.h"
#include "client/tool/oracle.h"

namespace engram {

struct ComparerOptions {
  // ALL_REDUCE_BF16 over several ranks adds +0 to every value: -0 comes back as +0.
  bool minus_zero_lost = false;
  // On a sparse checkpoint a row of zeros was never written: asking for it is a failure of its own.
  bool holes_fail = false;
};

struct CompareCounts {
  uint64_t steps = 0;
  uint64_t tokens = 0;        // of accepted segments, once however many layers were asked for
  uint64_t rows = 0;          // rows (or row ids) compared
  uint64_t bytes = 0;         // of those
  uint64_t received = 0;      // StepResult::received_bytes
  uint64_t table_rows = 0;    // rows compared, row ids not counted
  uint64_t nonzero_rows = 0;  // of table_rows: received with a byte other than zero (in bf16: a value other than zero)
  uint64_t mismatches = 0;    // steps, segments, states and rows that differ, and holes
  uint64_t cancels = 0;       // of steps: their cancellation was asked for
  uint64_t cancelled = 0;     // of those: ended CANCELLED, without rows
  uint64_t shared = 0;        // steps whose rows came through shared memory

  CompareCounts& operator+=(const CompareCounts& other);
};

// "N steps, N rows, N mismatches", in this wording whatever the numbers.
std::string Summary(const CompareCounts& counts);

// What unique rows saved, as a line; empty where they were not asked for.
std::string UniqueRowsLine(bool asked, const CompareCounts& counts);

// Not thread-safe.
class Comparer {
 public:
  // `oracle` must outlive it.
  Comparer(const Oracle& oracle, ComparerOptions options);

  // Counts what differs; only a failure to read the files is an error.
  absl::Status Compare(const ExpectedStep& expected, const StepResult& result);

  const CompareCounts& counts() const { return counts_; }
  // Hands the counts so far out and begins anew; the first mismatch stays.
  CompareCounts TakeCounts();
  // Where the first difference lies and both values; empty without one.
  const std::string& first_mismatch() const { return first_mismatch_; }

 private:
  // One row (or row id) of the answer.
  struct Place {
    const ExpectedSegment* segment = nullptr;
    size_t index = 0;  // of the token in its segment
    uint32_t layer = 0;
    size_t layer_index = 0;
    uint32_t column = 0;
    uint64_t row = 0;
  };

  // No rows; what it says of its segments must be right all the same, for what they wrote stands.
  void CompareCancelled(const ExpectedStep& expected, const StepResult& result);
  void CompareSegment(const ExpectedStep& expected, size_t index, const StepResult& result);
  absl::Status CompareLayer(const ExpectedStep& expected, uint32_t layer, const LayerRows& rows);
  absl::Status CompareToken(const ExpectedStep& expected, Place place, uint64_t token, const LayerRows& rows);
  absl::Status CompareRow(v1::RowFormat format, const Place& place, absl::Span<const uint8_t> row);
  void ComparePacked(const Place& place, absl::Span<const uint8_t> row);
  void CompareBf16(const Place& place, absl::Span<const uint8_t> row);
  // Counts a difference; only the first is put into words.
  void Differs(absl::FunctionRef<std::string()> what);
  static std::string Describe(const Place& place);

  const Oracle& oracle_;
  const ComparerOptions options_;
  CompareCounts counts_;
  std::string first_mismatch_;
  std::vector<uint8_t> packed_;  // the row being compared, from the files
  std::vector<uint16_t> values_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_COMPARER_H_
