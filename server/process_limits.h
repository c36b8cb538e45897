// What the system allows this process.

#ifndef ENGRAM_SERVER_PROCESS_LIMITS_H_
#define ENGRAM_SERVER_PROCESS_LIMITS_H_

#include <cstdint>

namespace engram {

// Raises the number of files this process may open from the soft to the hard limit and returns it. A server that runs
// out of them cannot accept connections, and gRPC does not take up accepting again when some are free.
uint64_t RaiseOpenFilesLimit();

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_LIMITS_H_
