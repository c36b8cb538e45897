// How much memory this process has.

#ifndef ENGRAM_SERVER_PROCESS_MEMORY_H_
#define ENGRAM_SERVER_PROCESS_MEMORY_H_

#include <cstdint>

namespace engram {

struct ProcessMemory {
  uint64_t resident_bytes = 0;   // all of it, mapped files included
  uint64_t anonymous_bytes = 0;  // without files and shared segments
};

// From /proc/self/status; zeros where there is none.
ProcessMemory ReadProcessMemory();

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_MEMORY_H_
