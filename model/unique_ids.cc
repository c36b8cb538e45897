#include "model/unique_ids.h"

#include <algorithm>
#include <bit>
#include <random>

#include "model/check.h"

namespace engram {
namespace {

constexpr size_t kAhead = 16;  // ids whose slots are on their way
constexpr size_t kIdsBound = size_t{1} << 31;

uint64_t RandomOdd() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) | 1;
}

}  // namespace

UniqueIds::UniqueIds() : UniqueIds(RandomOdd()) {}

void UniqueIds::Prepare(size_t ids) {
  ENGRAM_CHECK(ids < kIdsBound);
  // At most a quarter of the slots are taken. Few ids use few slots, which stay in the cache.
  const size_t slots = std::bit_ceil(std::max<size_t>(4 * ids, 2));
  shift_ = 64 - std::countr_zero(slots);
  if (slots > slots_.size()) slots_.resize(slots);
  if (++generation_ == 0) {  // it went around: what is 2^32 lists old would look like today's
    std::fill(slots_.begin(), slots_.end(), Slot());
    generation_ = 1;
  }
  if (ids > index_.size()) {
    index_.resize(ids);
    unique_.resize(ids);
  }
  ids_ = ids;
  unique_count_ = 0;
}

// What it reads again and again is in locals: a store of an id could change any member, as far as the compiler knows.
void UniqueIds::Build(absl::Span<const uint64_t> ids) {
  Prepare(ids.size());
  Slot* const slots = slots_.data();
  uint64_t* const unique = unique_.data();
  uint32_t* const index = index_.data();
  const size_t mask = (size_t{1} << (64 - shift_)) - 1;
  const uint32_t generation = generation_;
  uint32_t count = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) __builtin_prefetch(&slots[SlotOf(ids[i + kAhead])], 1);
    const uint64_t id = ids[i];
    size_t at = SlotOf(id);
    while (slots[at].generation == generation && slots[at].id != id) at = (at + 1) & mask;
    // Whether an id is new is a coin's toss for the processor: no branch depends on it.
    const bool fresh = slots[at].generation != generation;
    const uint32_t number = fresh ? count : slots[at].number;
    slots[at] = {id, generation, number};
    unique[count] = id;
    count += fresh ? 1 : 0;
    index[i] = number;
  }
  unique_count_ = count;
}

}  // namespace engram
