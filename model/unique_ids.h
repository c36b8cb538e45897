// Which of many ids are there again.

#ifndef ENGRAM_MODEL_UNIQUE_IDS_H_
#define ENGRAM_MODEL_UNIQUE_IDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace engram {

// Numbers the different ids of a list in the order in which they first occur. One pass, O(ids); memory for the longest
// list so far is kept, and emptying it for the next one costs nothing. Not thread-safe.
class UniqueIds {
 public:
  // Clients choose tokens and so rows: the hash has a secret, so that none can choose rows that collide.
  UniqueIds();
  // With a hash that is known, for tests and counts. `multiplier` must be odd.
  explicit UniqueIds(uint64_t multiplier) : multiplier_(multiplier) {}

  // Replaces what was found before. Fewer than 2^31 ids.
  void Build(absl::Span<const uint64_t> ids);

  // The different ids, in the order of their first occurrence.
  absl::Span<const uint64_t> unique() const { return {unique_.data(), unique_count_}; }
  // [ids]: which of unique() each one is. Each number first stands where its id first occurs.
  absl::Span<const uint32_t> index() const { return {index_.data(), ids_}; }

 private:
  // Taken where its generation is the present one.
  struct Slot {
    uint64_t id = 0;
    uint32_t generation = 0;
    uint32_t number = 0;
  };

  void Prepare(size_t ids);
  // Multiply and shift: for a random odd multiplier two ids share one of 2^bits slots with probability at most
  // 2 / 2^bits (Dietzfelbinger et al. 1997).
  size_t SlotOf(uint64_t id) const { return static_cast<size_t>(id * multiplier_ >> shift_); }

  const uint64_t multiplier_;
  std::vector<Slot> slots_;  // a power of two; the first 2^(64 - shift_) are in use
  int shift_ = 63;
  uint32_t generation_ = 0;
  std::vector<uint64_t> unique_;  // these two: as long as the longest list
  std::vector<uint32_t> index_;
  size_t unique_count_ = 0;
  size_t ids_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_MODEL_UNIQUE_IDS_H_
