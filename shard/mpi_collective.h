// Collective between processes, over MPI. Private to the MPI files of shard/.

#ifndef ENGRAM_SHARD_MPI_COLLECTIVE_H_
#define ENGRAM_SHARD_MPI_COLLECTIVE_H_

#include <memory>
#include <string>
#include <vector>

#include "shard/collective.h"
#include "shard/mpi_check.h"
#include "shard/mpi_requests.h"
#include "shard/node_channels.h"

namespace engram {

// Over all launched ranks. Only non-blocking calls and MPI_Test: a peer that is silent is noticed at the deadline.
class MpiCollective : public Collective {
 public:
  // Collective, unbounded; MPI is initialised. As MpiOptions says.
  static absl::StatusOr<std::unique_ptr<MpiCollective>> Create(bool share_memory, size_t part_bytes_max);

  // Collective, before MPI_Finalize, when no operation failed. Nothing but destruction may follow.
  void Free();

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  int local_rank() const override { return local_rank_; }
  int local_ranks() const override { return local_ranks_; }
  absl::Status SendHeaders(absl::Span<const RoundHeader> headers, Deadline deadline) override;
  absl::StatusOr<RoundHeader> AwaitHeader(Deadline deadline) override;
  absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) override;
  absl::Status Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts, absl::Span<std::byte> mine,
                       Deadline deadline) override;
  absl::Status Gather(int root, absl::Span<const std::byte> mine, absl::Span<const absl::Span<std::byte>> parts,
                      Deadline deadline) override;
  absl::StatusOr<SharedMemory> ShareMemory(uint64_t bytes, Deadline deadline) override;
  absl::Status AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) override;
  absl::Status AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) override;

 private:
  MpiCollective(bool share_memory, size_t part_bytes_max)
      : share_memory_(share_memory), part_bytes_max_(part_bytes_max) {}

  absl::Status CountLocalRanks();

  MpiRequests NewRequests() { return MpiRequests(comm_, part_bytes_max_, channels_.get()); }
  // Waits for a header, from a rank of this node or of another one.
  absl::Status TakeHeader(RoundHeader& header, Deadline deadline);
  absl::Status ReceiveHeader(RoundHeader& header, Deadline deadline);
  absl::Status Reduce(void* data, size_t count, size_t element_bytes, MPI_Datatype type, MPI_Op op, Deadline deadline);

  const bool share_memory_;
  const size_t part_bytes_max_;
  int rank_ = 0;
  int ranks_ = 1;
  int local_rank_ = 0;
  int local_ranks_ = 1;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Op sum_bf16_ = MPI_OP_NULL;
  std::unique_ptr<NodeChannels> channels_;  // null: none on this node
};

}  // namespace engram

#endif  // ENGRAM_SHARD_MPI_COLLECTIVE_H_
