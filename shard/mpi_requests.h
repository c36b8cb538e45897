// Messages under way to and from other ranks. Private to the MPI files of shard/.

#ifndef ENGRAM_SHARD_MPI_REQUESTS_H_
#define ENGRAM_SHARD_MPI_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shard/deadline.h"
#include "shard/mpi_check.h"
#include "shard/node_channels.h"

namespace engram {

// One operation's messages. Add all, then Await once.
class MpiRequests {
 public:
  // MPI counts are int: messages of more than `part_bytes_max` bytes go in parts. Where `channels` (may be null) reach,
  // small messages go by them; both ends know the size, and so the way.
  MpiRequests(MPI_Comm comm, size_t part_bytes_max, NodeChannels* channels)
      : comm_(comm), part_bytes_max_(part_bytes_max), channels_(channels) {}

  // 0 bytes add nothing. The memory must stay until Await has returned OK, or for ever.
  absl::Status Send(int to, int tag, absl::Span<const std::byte> bytes);
  absl::Status Receive(int from, int tag, absl::Span<std::byte> bytes);
  // A non-blocking collective call's request.
  void Add(MPI_Request request) { pending_.push_back({request, kAnyPeer, 0}); }

  // UNAVAILABLE naming the peers whose messages were not done by `deadline`; INTERNAL for one of another size.
  absl::Status Await(Deadline deadline);

 private:
  static constexpr int kAnyPeer = -1;
  struct Pending {
    MPI_Request request;
    int peer;
    int receive_bytes;  // 0: nothing is received
  };
  // By a box, in the order of the calls. Only one of the two spans has bytes.
  struct Small {
    int peer;
    int tag;
    absl::Span<const std::byte> send;
    absl::Span<std::byte> receive;
  };

  bool IsSmall(int peer, size_t bytes) const;
  template <typename Item, typename TestItem>
  static absl::Status DropDone(std::vector<Item>& items, const TestItem& test);
  // Drops those that are done.
  absl::Status Test();
  absl::Status TestOne(Pending& pending, bool& done) const;
  absl::Status TestSmall(const Small& small, bool& done) const;
  absl::Status Silence() const;

  const MPI_Comm comm_;
  const size_t part_bytes_max_;
  NodeChannels* const channels_;
  std::vector<Pending> pending_;
  std::vector<Small> small_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_MPI_REQUESTS_H_
