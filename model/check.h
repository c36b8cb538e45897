// Assertions that stay on in release builds: for broken promises between our own functions, never for input.

#ifndef ENGRAM_MODEL_CHECK_H_
#define ENGRAM_MODEL_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace engram {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace engram

#define ENGRAM_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::engram::CheckFailed(__FILE__, __LINE__, #condition))

#endif  // ENGRAM_MODEL_CHECK_H_
