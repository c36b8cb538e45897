#include "shard/node_channels.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <new>
#include <numeric>

namespace engram {
namespace {

// Not FUTEX_PRIVATE_FLAG: the word is shared between processes.
void FutexWait(const void* word, uint32_t seen, std::chrono::nanoseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  timespec time = {};
  time.tv_sec = seconds.count();
  time.tv_nsec = (limit - seconds).count();
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

// The ranks of `node` as numbers of `world`.
absl::StatusOr<std::vector<int>> WorldRanks(MPI_Comm world, MPI_Comm node) {
  int node_ranks = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(node, &node_ranks));
  std::vector<int> here(static_cast<size_t>(node_ranks));
  std::iota(here.begin(), here.end(), 0);
  std::vector<int> of_world(here.size());
  MPI_Group world_group;
  MPI_Group node_group;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_group(world, &world_group));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_group(node, &node_group));
  ENGRAM_RETURN_IF_MPI_ERROR(
      MPI_Group_translate_ranks(node_group, node_ranks, here.data(), world_group, of_world.data()));
  MPI_Group_free(&world_group);
  MPI_Group_free(&node_group);
  return of_world;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeChannels>> NodeChannels::Create(MPI_Comm world) {
  int rank = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_rank(world, &rank));
  MPI_Comm node = MPI_COMM_NULL;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
  std::unique_ptr<NodeChannels> channels(new NodeChannels());
  bool shared = false;
  absl::Status status = channels->Allocate(node, shared);
  if (status.ok() && shared) status = channels->FindPeers(world, node);
  MPI_Comm_free(&node);
  if (!status.ok()) return status;
  if (!shared) return std::unique_ptr<NodeChannels>();
  return channels;
}

absl::Status NodeChannels::Allocate(MPI_Comm node, bool& shared) {
  int ranks = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(node, &ranks));
  const auto bytes = static_cast<MPI_Aint>(sizeof(Bell) + static_cast<size_t>(ranks) * sizeof(Box));
  void* segment = nullptr;
  int good = MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, &segment, &window_) == MPI_SUCCESS ? 1 : 0;
  if (good == 1) {
    own_ = &(new (segment) Bell())->rings;
    auto* boxes = static_cast<std::byte*>(segment) + sizeof(Bell);
    for (int i = 0; i < ranks; ++i) new (boxes + static_cast<size_t>(i) * sizeof(Box)) Box();
  }
  // All or none; and nobody rings or writes before all is set up.
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node));
  shared = good == 1;
  return absl::OkStatus();
}

absl::Status NodeChannels::FindPeers(MPI_Comm world, MPI_Comm node) {
  int world_ranks = 0;
  int own = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(world, &world_ranks));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_rank(node, &own));
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<int> of_world, WorldRanks(world, node));
  peers_.assign(static_cast<size_t>(world_ranks), Peer());
  const auto segment_of = [this](int rank) {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* segment = nullptr;
    const int result = MPI_Win_shared_query(window_, rank, &bytes, &unit, &segment);
    return result == MPI_SUCCESS ? static_cast<std::byte*>(segment) : nullptr;
  };
  const auto box = [](std::byte* segment, int from) {
    return reinterpret_cast<Box*>(segment + sizeof(Bell) + static_cast<size_t>(from) * sizeof(Box));
  };
  std::byte* own_segment = segment_of(own);
  for (int i = 0; i < static_cast<int>(of_world.size()); ++i) {
    std::byte* segment = segment_of(i);
    if (segment == nullptr || own_segment == nullptr) return absl::UnavailableError("MPI_Win_shared_query failed");
    if (i == own) continue;
    peers_[static_cast<size_t>(of_world[static_cast<size_t>(i)])] = {&reinterpret_cast<Bell*>(segment)->rings,
                                                                     box(own_segment, i), box(segment, own)};
  }
  reaches_all_ = of_world.size() == peers_.size();
  return absl::OkStatus();
}

void NodeChannels::Free() {
  if (window_ != MPI_WIN_NULL) (void)MPI_Win_free(&window_);
}

bool NodeChannels::TrySend(int to, int tag, absl::Span<const std::byte> bytes) {
  Box& box = *peers_[static_cast<size_t>(to)].out;
  const uint32_t written = box.written.load(std::memory_order_relaxed);
  if (box.taken.load(std::memory_order_acquire) != written) return false;
  box.tag = tag;
  box.size = static_cast<uint32_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), box.bytes);
  box.written.store(written + 1, std::memory_order_release);
  return true;
}

bool NodeChannels::Peek(int from, Message& message) const {
  const Box& box = *peers_[static_cast<size_t>(from)].in;
  if (box.written.load(std::memory_order_acquire) == box.taken.load(std::memory_order_relaxed)) return false;
  message = {box.tag, {box.bytes, std::min<size_t>(box.size, kMessageBytesMax)}};
  return true;
}

void NodeChannels::Take(int from) {
  Box& box = *peers_[static_cast<size_t>(from)].in;
  box.taken.store(box.taken.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void NodeChannels::Ring(int rank) {
  Word* bell = peers_[static_cast<size_t>(rank)].bell;
  bell->fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, static_cast<void*>(bell), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void NodeChannels::Sleep(uint32_t seen, std::chrono::nanoseconds limit) const {
  if (limit > std::chrono::nanoseconds::zero()) FutexWait(own_, seen, limit);
}

}  // namespace engram
