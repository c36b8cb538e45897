// The combine modes on a GPU: what a round's path has in common whatever the mode, and whatever the number of ranks.

#ifndef ENGRAM_SHARD_GPU_GPU_COMBINE_H_
#define ENGRAM_SHARD_GPU_GPU_COMBINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/combine.h"
#include "shard/gpu/copy_out.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/entry_gather.h"
#include "shard/gpu/nccl_comm.h"
#include "shard/gpu/round_buffers.h"

namespace engram {

// Ids travel between hosts by the Collective, rows between devices by NCCL:
//
//   ids, pinned -> device -> gather -> combine -> rows in the forms asked, request order -> host
//
// All but the last arrow is on one stream. Ask waits until that stream has passed the round's part of it (rank alone:
// need not), Deliver for the last arrow. Two rounds may be in flight; they take turns with the slots of RoundBuffers.
// No wait is unbounded. After any error the communicator is aborted, so that destruction does not wait for other ranks;
// copies under way may still write to blocks' `out` until it is over.
class GpuCombine : public Combine {
 public:
  // Allocates RoundBytesOf, shows the device where the tables of `shard` lie, and uses every kernel once. `host` and
  // `shard` must outlive it. RESOURCE_EXHAUSTED naming a buffer.
  static absl::StatusOr<std::unique_ptr<Combine>> Make(CombineMode mode, Collective& host, Shard& shard,
                                                       uint64_t rows_max, int device);

  absl::Status Connect(Deadline deadline) final;
  absl::Status Ask(absl::Span<const RowBlock> blocks, Deadline deadline, absl::Status& rows) final;
  absl::Status Deliver(Deadline deadline) final;
  int rounds_in_flight_max() const final { return kRoundsInFlightMax; }
  absl::Status Answer(const RoundHeader& header, Deadline deadline, absl::Status& rows) final;

 protected:
  // What Make makes.
  struct Parts {
    Collective& host;
    Shard& shard;
    uint64_t rows_max;
    int device;
    RoundBuffers buffers;
    Stream compute;
    Event ready;
    CopyOut copy_out;
  };

  // Consecutive blocks of one form: rows [begin, begin + rows) of the round.
  struct Run {
    RowForm form = RowForm::kPacked;
    uint64_t begin = 0;
    uint64_t rows = 0;
    std::byte* data = nullptr;  // where they will lie on the device
  };

  // The round that is being asked, from Plan to the end of Ask.
  struct Round {
    int slot = 0;
    uint64_t rows = 0;
    std::vector<Run> runs;
    bool staged = false;  // the rows come to host_small_rows with the gather
  };

  explicit GpuCombine(Parts parts);

  // --- For Plan, which ends with every run's data set.
  void OpenRound(absl::Span<const RowBlock> blocks);
  // All rows, in request order, to the slot's entries.
  void PutEntries(absl::Span<const RowBlock> blocks);
  // In request order without gaps, in the slot's `rows`.
  void LayRuns();

  // --- For Make: what is used for the first time while serving would be loaded and captured then, which waits for
  // the device, and so for other ranks.
  // What GatherFixed is called with, in each form; rows are the most.
  virtual std::vector<EntryGather::Call> FixedCalls(int slot) = 0;
  // The other kernels once, on the buffers, which hold nothing yet.
  virtual absl::Status WarmUpKernels() { return absl::OkStatus(); }

  // Put a round's path on the compute stream; that of the asker goes up to the runs' data.
  virtual absl::Status EnqueueAsk(Deadline deadline) = 0;
  virtual absl::Status EnqueueAnswer(int slot, const RoundHeader& header, Deadline deadline, absl::Status& rows) = 0;

  // --- For those two.
  uint64_t rows_max() const { return parts_.rows_max; }
  absl::Status Upload(const DeviceBuffer& to, const PinnedBuffer& from, uint64_t bytes);

  size_t RowBytes(RowForm form) const { return parts_.shard.RowBytes(form); }
  uint32_t head_dim() const { return parts_.shard.geometry().head_dim; }
  Collective& host() const { return parts_.host; }
  Shard& shard() const { return parts_.shard; }
  const RoundBuffers& buffers() const { return parts_.buffers; }
  const Stream& compute() const { return parts_.compute; }
  EntryGather& gather() { return gather_; }
  Round& round() { return round_; }
  NcclComm& comm();  // of more than one rank, connected

 private:
  static absl::StatusOr<Parts> MakeParts(CombineMode mode, Collective& host, Shard& shard, uint64_t rows_max,
                                         int device);

  absl::Status WarmUp();
  int NextSlot() const { return static_cast<int>(asked_ % kSlots); }
  absl::Status AskRound(absl::Span<const RowBlock> blocks, Deadline deadline);
  absl::Status DeliverRound(Deadline deadline);
  absl::Status AnswerRound(const RoundHeader& header, Deadline deadline, absl::Status& rows);
  // Every row of the round to CopyOut.
  void AddPieces(absl::Span<const RowBlock> blocks);
  absl::Status StartCopyOut(Deadline deadline);
  absl::Status Await(const Event& event, std::string_view what, Deadline deadline);
  // The job is lost with an error: ends what the device does for other ranks.
  absl::Status Checked(absl::Status status);

  Parts parts_;
  EntryGather gather_;
  Round round_;
  uint64_t asked_ = 0;              // rounds
  uint64_t delivered_ = 0;          // rounds
  std::unique_ptr<NcclComm> comm_;  // last, so that it goes first; null: one rank, or not connected
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_GPU_COMBINE_H_
