// Arithmetic on numbers that a file states: overflow is an answer, not an accident.

#ifndef ENGRAM_MODEL_FILES_CHECKED_MATH_H_
#define ENGRAM_MODEL_FILES_CHECKED_MATH_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace engram {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The number of elements of a shape; 1 for an empty one (a scalar).
inline std::optional<uint64_t> CheckedProduct(const std::vector<uint64_t>& shape) {
  std::optional<uint64_t> product = 1;
  for (size_t i = 0; product && i < shape.size(); ++i) product = CheckedMultiply(*product, shape[i]);
  return product;
}

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_CHECKED_MATH_H_
