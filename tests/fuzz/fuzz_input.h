// What fuzz targets make of their bytes, and how they fail.

#ifndef ENGRAM_TESTS_FUZZ_FUZZ_INPUT_H_
#define ENGRAM_TESTS_FUZZ_FUZZ_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace engram {

[[noreturn]] inline void BrokenPromise(const std::string& what) {
  std::fprintf(stderr, "fuzz: broken promise: %s\n", what.c_str());
  std::abort();
}

// Takes bytes off the front of an input; past its end every byte is 0.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }

  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }

  // Little-endian.
  uint16_t Short() {
    const uint16_t low = Byte();
    return static_cast<uint16_t>(low | Byte() << 8);
  }

  // At most `count` bytes.
  std::string Bytes(size_t count) {
    const size_t taken = std::min(count, size_);
    std::string bytes(data_, data_ + taken);
    data_ += taken;
    size_ -= taken;
    return bytes;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace engram

// Ends the process unless `holds`, which is how a fuzz target reports a fault. `what`, for the reader, is made only
// then.
#define ENGRAM_REQUIRE(holds, what) ((holds) ? static_cast<void>(0) : ::engram::BrokenPromise(what))

#endif  // ENGRAM_TESTS_FUZZ_FUZZ_INPUT_H_
