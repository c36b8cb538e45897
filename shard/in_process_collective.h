// Collective between threads of one process.

#ifndef ENGRAM_SHARD_IN_PROCESS_COLLECTIVE_H_
#define ENGRAM_SHARD_IN_PROCESS_COLLECTIVE_H_

#include <memory>
#include <utility>

#include "shard/collective.h"
#include "shard/in_process_group.h"

namespace engram {

// `group` is shared by all ranks' ends and must be closed when one of them leaves early.
class InProcessCollective : public Collective {
 public:
  InProcessCollective(std::shared_ptr<InProcessGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int ranks() const override { return group_->ranks(); }
  int local_rank() const override { return rank_; }
  int local_ranks() const override { return ranks(); }
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
  absl::Status Send(int to, absl::Span<const std::byte> bytes, Deadline deadline);
  absl::Status Receive(int from, absl::Span<std::byte> bytes, Deadline deadline);
  // Rank 0 adds up what the others send, and sends them the sums: one process shares one memory bus anyway.
  absl::Status ReduceAtFirst(absl::Span<std::byte> bytes, absl::FunctionRef<void(absl::Span<const std::byte>)> add,
                             Deadline deadline);

  const std::shared_ptr<InProcessGroup> group_;
  const int rank_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_IN_PROCESS_COLLECTIVE_H_
