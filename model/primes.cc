#include "model/primes.h"

namespace engram {
namespace {

bool IsPrime(uint64_t value) {
  if (value < 4) return value >= 2;
  if (value % 2 == 0 || value % 3 == 0) return false;
  for (uint64_t divisor = 5; divisor * divisor <= value; divisor += 6) {
    if (value % divisor == 0 || value % (divisor + 2) == 0) return false;
  }
  return true;
}

}  // namespace

std::vector<int64_t> PrimesFrom(uint64_t start, size_t count) {
  std::vector<int64_t> primes;
  primes.reserve(count);
  for (uint64_t value = start; primes.size() < count; ++value) {
    if (IsPrime(value)) primes.push_back(static_cast<int64_t>(value));
  }
  return primes;
}

}  // namespace engram
