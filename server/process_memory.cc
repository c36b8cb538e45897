#include "server/process_memory.h"

#include <fstream>
#include <string>

namespace engram {

ProcessMemory ReadProcessMemory() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  // Lines such as "VmRSS:	    4096 kB".
  for (std::string name; status >> name;) {
    uint64_t* const bytes = name == "VmRSS:"     ? &memory.resident_bytes
                            : name == "RssAnon:" ? &memory.anonymous_bytes
                                                 : nullptr;
    if (bytes != nullptr && status >> *bytes) *bytes *= 1024;
    std::string rest;
    std::getline(status, rest);
  }
  return memory;
}

}  // namespace engram
