// Ranks as processes on the machine's GPUs, however few those are.

#ifndef ENGRAM_TESTS_GPU_CARD_PROCESSES_H_
#define ENGRAM_TESTS_GPU_CARD_PROCESSES_H_

#include <string>

#include "absl/status/statusor.h"

namespace engram {

// Asks a process that ends again, so that this one has not used CUDA. The status is CountDevices': what the driver says
// where there is no GPU.
absl::StatusOr<int> CountDevicesElsewhere();

// In the process of one of `ranks` ranks, before NCCL is used: the device r % devices of rank r. Where ranks share a
// card, has NCCL take them for ranks of different hosts that speak over sockets: it refuses two of one host on one
// card.
absl::StatusOr<int> ChooseDevice(int rank, int ranks);

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_CARD_PROCESSES_H_
