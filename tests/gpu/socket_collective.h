// Collective over Unix socket pairs: ranks of one host as processes (or threads) without MPI, for tests and benchmarks.

#ifndef ENGRAM_TESTS_GPU_SOCKET_COLLECTIVE_H_
#define ENGRAM_TESTS_GPU_SOCKET_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/collective.h"

namespace engram {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = kNone) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, kNone)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }

 private:
  static constexpr int kNone = -1;

  int fd_;
};

// A socket between every two ranks. Make it before forking; then each rank takes its end, and the mesh must go in every
// process: as long as somebody holds a rank's end, nobody sees that the rank has left.
class SocketMesh {
 public:
  // RESOURCE_EXHAUSTED when this process may not have so many descriptors.
  static absl::StatusOr<SocketMesh> Create(int ranks);

  // ends[r]: to rank r; that of `rank` itself is empty. Once for each rank.
  std::vector<Descriptor> Take(int rank);

 private:
  std::vector<std::vector<Descriptor>> ends_;  // [from][to]
};

// Messages carry their size and keep their order between two ranks. A wait sleeps in poll(), an idle rank too. Rank 0
// adds up what is summed. A rank whose process or object is gone is named at once.
class SocketCollective : public Collective {
 public:
  // `ends`: of SocketMesh::Take(rank).
  SocketCollective(int rank, std::vector<Descriptor> ends) : rank_(rank), ends_(std::move(ends)) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(ends_.size()); }
  int local_rank() const override { return rank_; }
  int local_ranks() const override { return ranks(); }
  absl::Status SendHeaders(absl::Span<const RoundHeader> headers, Deadline deadline) override;
  absl::StatusOr<RoundHeader> AwaitHeader(Deadline deadline) override;
  absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) override;
  absl::Status Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts, absl::Span<std::byte> mine,
                       Deadline deadline) override;
  absl::Status Gather(int root, absl::Span<const std::byte> mine, absl::Span<const absl::Span<std::byte>> parts,
                      Deadline deadline) override;
  absl::Status AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) override;
  absl::Status AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) override;

 private:
  absl::Status Send(int to, absl::Span<const std::byte> bytes, Deadline deadline);
  absl::Status Receive(int from, absl::Span<std::byte> bytes, Deadline deadline);
  absl::Status Write(int to, absl::Span<const std::byte> bytes, Deadline deadline);
  absl::Status Read(int from, absl::Span<std::byte> bytes, Deadline deadline);
  // After a call on the socket failed with `error`: waits until `events` are possible where that was all.
  absl::Status AwaitPeer(int peer, int16_t events, int error, Deadline deadline);
  absl::Status ReduceAtFirst(absl::Span<std::byte> bytes, absl::FunctionRef<void(const std::byte*)> add,
                             Deadline deadline);

  const int rank_;
  const std::vector<Descriptor> ends_;  // [ranks]
};

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_SOCKET_COLLECTIVE_H_
