// What came back for one step.

#ifndef ENGRAM_CLIENT_STEP_RESULT_H_
#define ENGRAM_CLIENT_STEP_RESULT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/client_segment.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// The status that a code and message of the protocol stand for. Codes are gRPC status numbers; others become UNKNOWN.
absl::Status StatusOfCode(int code, const std::string& message);

// The rows of one decoder layer, for all tokens of the step in request order. Movable. Owns its memory, or holds its
// piece of shared memory, which no other step gets meanwhile (in_shared_memory). Tokens whose
// rows the server does not send (of refused segments, or masked under omit_masked_rows) hold 0xFF bytes: NaN in every
// row format, and no row id.
//
// Where the caller asked to keep unique rows, bytes() are the rows as they came and row_index() says where each
// belongs.
class LayerRows {
 public:
  // Of a token whose rows are not sent, in row_index().
  static constexpr uint32_t kNoRow = UINT32_MAX;

  LayerRows(uint32_t layer, uint64_t tokens, uint32_t columns, uint32_t row_bytes, bool keep_unique = false)
      : layer_(layer), tokens_(tokens), columns_(columns), row_bytes_(row_bytes), keep_unique_(keep_unique) {}
  LayerRows(LayerRows&&) noexcept = default;
  LayerRows& operator=(LayerRows&&) noexcept = default;

  uint32_t layer() const { return layer_; }
  uint64_t tokens() const { return tokens_; }
  uint32_t columns() const { return columns_; }
  uint32_t row_bytes() const { return row_bytes_; }  // of one row; 8 where the format is HASH_IDS
  uint64_t token_bytes() const { return uint64_t{columns_} * row_bytes_; }

  // [tokens, columns, row_bytes]; row ids are little-endian words of 8 bytes. With a row_index: [rows, row_bytes],
  // where a row may be there more than once, as frames know nothing of each other.
  absl::Span<const uint8_t> bytes() const {
    if (bytes_ == nullptr) return {};
    return {bytes_.get(), keep_unique_ ? unique_rows_ * row_bytes_ : tokens_ * token_bytes()};
  }
  // [tokens, columns]: which row of bytes() each is, or kNoRow. Empty unless unique rows are kept.
  absl::Span<const uint32_t> row_index() const { return row_index_; }
  // Empty where it is kNoRow.
  absl::Span<const uint8_t> row(uint64_t token, uint32_t column) const {
    const uint64_t place = token * columns_ + column;
    if (!keep_unique_) return bytes().subspan(place * row_bytes_, row_bytes_);
    if (row_index_[place] == kNoRow) return {};
    return bytes().subspan(uint64_t{row_index_[place]} * row_bytes_, row_bytes_);
  }
  // Whether they lie where the server has written them.
  bool in_shared_memory() const { return in_shared_memory_; }
  // Copies them out of shared memory, to make room there for further steps. RESOURCE_EXHAUSTED when the memory is not
  // to be had.
  absl::Status LeaveSharedMemory();
  // HASH_IDS only.
  uint64_t hash_id(uint64_t token, uint32_t column) const;

  // Makes room, uninitialised. RESOURCE_EXHAUSTED when the memory is not to be had.
  absl::Status Allocate();
  // The same, but they lie `begin` bytes into the place, all of them.
  void Adopt(const std::shared_ptr<SegmentPlace>& place, uint64_t begin);
  bool allocated() const { return bytes_ != nullptr; }
  uint8_t* mutable_token(uint64_t token) { return bytes_.get() + token * token_bytes(); }
  // The tokens [begin, end) have no rows.
  void SetUnsent(uint64_t begin, uint64_t end);
  // Where unique rows are kept: room for `rows` more of them, to be filled, and the index into those for the places
  // from `place` on, a place being a token's column. No more rows than there are places.
  uint8_t* AddUnique(uint64_t rows) {
    return bytes_.get() + (std::exchange(unique_rows_, unique_rows_ + rows)) * row_bytes_;
  }
  uint64_t unique_rows() const { return unique_rows_; }
  uint32_t* mutable_index(uint64_t place) { return row_index_.data() + place; }
  // Takes the tokens [begin, end) out, in place.
  void Drop(uint64_t begin, uint64_t end);

 private:
  uint32_t layer_;
  uint64_t tokens_;
  uint32_t columns_;
  uint32_t row_bytes_;
  bool keep_unique_;
  uint64_t unique_rows_ = 0;  // in bytes_, where they are kept
  std::vector<uint32_t> row_index_;
  std::shared_ptr<uint8_t[]> bytes_;  // of this object alone
  bool in_shared_memory_ = false;
};

struct StepResult {
  uint64_t step_id = 0;
  // The step's own outcome. When it is not OK `layers` is empty; `segments` still tells what was written to the
  // sessions.
  absl::Status status;
  std::vector<v1::SegmentResult> segments;  // one a segment of the request; empty when the whole step was refused
  std::vector<LayerRows> layers;            // ascending by decoder layer id
  uint64_t table_version = 0;
  bool through_shared_memory = false;  // the server has written the rows there; they may have been copied since
  uint64_t received_bytes = 0;         // of rows, row ids and indices, as they came

  // A segment's own outcome.
  absl::Status segment_status(size_t index) const;
  // The layer's rows, or null.
  const LayerRows* layer(uint32_t layer_id) const;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_STEP_RESULT_H_
