// One rank's end of an NCCL communicator.

#ifndef ENGRAM_SHARD_GPU_NCCL_COMM_H_
#define ENGRAM_SHARD_GPU_NCCL_COMM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/collective.h"
#include "shard/gpu/device_memory.h"

namespace engram {

// Device memory that goes to a rank, or comes from one.
struct DevicePart {
  int peer = 0;
  std::byte* data = nullptr;
  uint64_t bytes = 0;
};

// Made by all ranks together, each with a device of its own; used by the rank's engine thread alone. Operations are
// collective: all ranks call the same ones in the same order. They are put on a stream and are done when it has
// passed them; Await waits for that, and sees what goes wrong between the ranks.
//
// No wait is unbounded: at the deadline, and at any error, the communicator is aborted, which also ends its operations
// on the device, and from then on every call returns that first error. The other ranks end by their own deadlines.
// Declare it behind the buffers it moves, so that it goes first: freeing memory waits for the device.
class NcclComm {
 public:
  // Rank and ranks are those of `host`, which carries NCCL's unique id. UNAVAILABLE when not all ranks came in time.
  static absl::StatusOr<std::unique_ptr<NcclComm>> Create(Collective& host, int device, Deadline deadline);

  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;
  ~NcclComm();  // aborts, unless closed

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int device() const { return device_; }

  // Ends in good order, with all ranks; only destruction may follow.
  absl::Status Close(Deadline deadline);

  // Sums over all ranks, element by element, in place, at every rank; [count] on the device, aligned to the element.
  // Integers wrap. bf16 rounds once an addition, and a NaN is any NaN: the device's own is not kBf16Nan.
  absl::Status AllReduceSum(uint8_t* bytes, uint64_t count, const Stream& stream, Deadline deadline);
  absl::Status AllReduceSum(uint64_t* words, uint64_t count, const Stream& stream, Deadline deadline);
  absl::Status AllReduceSumBf16(uint16_t* values, uint64_t count, const Stream& stream, Deadline deadline);

  // All of these at once. Every part of bytes has its counterpart of the same size at the peer, in the same order
  // between two ranks; parts of 0 bytes have none.
  absl::Status Exchange(absl::Span<const DevicePart> sends, absl::Span<const DevicePart> receives, const Stream& stream,
                        Deadline deadline);

  // Until `event` is reached, which was recorded behind operations of this communicator; `what` names them in errors.
  // UNAVAILABLE naming the ranks that can be missing at the deadline, or what NCCL says about a peer.
  absl::Status Await(const Event& event, std::string_view what, Deadline deadline);

  // Ends all that is under way, for whoever knows that the job is lost. `why` is what later calls return.
  void Abort(absl::Status why);

 private:
  NcclComm(int rank, int ranks, int device) : rank_(rank), ranks_(ranks), device_(device) {}

  absl::Status Init(const ncclUniqueId& id, Deadline deadline);
  absl::Status AllReduce(void* data, uint64_t count, ncclDataType_t type, const Stream& stream, Deadline deadline);
  // Ends a call that may go on behind our back: polls while it is in progress.
  absl::Status Settle(ncclResult_t result, std::string_view call, Deadline deadline);
  ncclResult_t Group(absl::Span<const DevicePart> sends, absl::Span<const DevicePart> receives, cudaStream_t stream);
  // Aborts; returns `error`.
  absl::Status Fail(absl::Status error);
  absl::Status Silence(std::string_view what) const;
  void NamePeers(absl::Span<const DevicePart> sends, absl::Span<const DevicePart> receives);

  const int rank_;
  const int ranks_;
  const int device_;
  ncclComm_t comm_ = nullptr;                                                                // null: closed or aborted
  absl::Status failure_ = absl::FailedPreconditionError("the NCCL communicator is closed");  // while comm_ is null
  std::vector<int> peers_;  // whom the operations since the last Await need
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_NCCL_COMM_H_
