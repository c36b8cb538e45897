// How the double runs kernels: see host_launch.cc.

#ifndef ENGRAM_TESTS_GPU_DOUBLE_HOST_LAUNCH_H_
#define ENGRAM_TESTS_GPU_DOUBLE_HOST_LAUNCH_H_

#include <cstdint>

namespace engram::cuda_double {

struct ThreadOrder {
  uint64_t seed = 1;     // of the order in which the threads of a kernel run, one after the other
  uint64_t threads = 0;  // 0: as many as the GPU launches
};

// For launches from now on, of all streams.
void SetThreadOrder(ThreadOrder order);

}  // namespace engram::cuda_double

#endif  // ENGRAM_TESTS_GPU_DOUBLE_HOST_LAUNCH_H_
