// Passes over all rows that the texts reach: by the table under measurement, or by a plain copy.

#ifndef ENGRAM_TESTS_BENCH_GATHER_PASSES_H_
#define ENGRAM_TESTS_BENCH_GATHER_PASSES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "bench_input.h"
#include "row_check.h"
#include "shard/host_table.h"

namespace engram {

// The tables of all layers, loaded as placement HOST does, and the row ids of the texts. A pass takes a chunk of tokens
// of one layer after the other, all into the same memory, as a server's reply buffers are reused. One thread.
class GatherPasses {
 public:
  // `input` must outlive it. `chunk_tokens` > 0.
  static absl::StatusOr<std::unique_ptr<GatherPasses>> Open(const BenchInput& input, size_t chunk_tokens);

  // From now on ids are taken modulo `rows`, which lie at the front of each table.
  void LimitRows(uint64_t rows);

  // Each returns rows a second. Sampled rows are compared with their definition beside the clock.
  absl::StatusOr<double> Gather(RowForm form);
  // Packed rows by memcpy, so many rows prefetched ahead, and nothing else.
  absl::StatusOr<double> Copy();

  // Measures how far ahead Copy goes fastest here, and keeps to that.
  absl::Status TuneCopy();
  size_t rows_ahead() const { return rows_ahead_; }

  uint64_t rows() const { return rows_; }  // of a pass
  uint64_t rows_checked() const { return check_.rows(); }

 private:
  using Chunk = absl::Span<const uint64_t>;
  using Work = absl::FunctionRef<absl::Status(size_t layer_index, Chunk ids)>;

  GatherPasses(const BenchInput& input, size_t chunk_tokens);
  absl::Status Load();
  absl::StatusOr<double> Pass(RowForm form, Work work);
  absl::Status CheckSome(RowForm form, size_t layer_index, Chunk ids);

  const BenchInput& input_;
  const size_t chunk_rows_;
  std::vector<std::unique_ptr<HostTable>> tables_;  // [layers]
  std::vector<std::vector<uint64_t>> ids_;          // [layers][rows]
  std::vector<std::byte> out_;                      // of one chunk, in the larger form
  RowCheck check_;
  uint64_t rows_ = 0;
  size_t rows_ahead_ = 12;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_GATHER_PASSES_H_
