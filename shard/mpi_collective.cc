#include "shard/mpi_collective.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "shard/backoff.h"
#include "shard/bf16_sum.h"
#include "shard/shared_window.h"
#include "shard/watchdog.h"

namespace engram {
namespace {

enum Tag : int { kHeaderTag = 1, kScatterTag = 2, kGatherTag = 3 };

// An idle rank looks up at least so often, rung or not.
constexpr std::chrono::milliseconds kBellSleepMax{100};

// Who sends headers today.
constexpr int kAsker = 0;

absl::Status Unasked() { return absl::UnavailableError("no rank asked anything in time"); }

absl::Status CheckHeader(const RoundHeader& header, size_t bytes) {
  if (bytes == sizeof(header) && static_cast<int>(header.asking_rank) == kAsker) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a round header of ", bytes, " bytes from rank ", kAsker,
                                          " says it is from rank ", header.asking_rank));
}

void AddBf16Op(void* addends, void* sums, int* count, MPI_Datatype* /*type*/) {
  AddBf16(static_cast<uint16_t*>(sums), static_cast<const uint16_t*>(addends), static_cast<size_t>(*count));
}

}  // namespace

absl::StatusOr<std::unique_ptr<MpiCollective>> MpiCollective::Create(bool share_memory, size_t part_bytes_max) {
  std::unique_ptr<MpiCollective> collective(new MpiCollective(share_memory, part_bytes_max));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_dup(MPI_COMM_WORLD, &collective->comm_));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_set_errhandler(collective->comm_, MPI_ERRORS_RETURN));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_rank(collective->comm_, &collective->rank_));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(collective->comm_, &collective->ranks_));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Op_create(AddBf16Op, 1, &collective->sum_bf16_));
  ENGRAM_RETURN_IF_ERROR(collective->CountLocalRanks());
  if (share_memory) {
    ENGRAM_ASSIGN_OR_RETURN(collective->channels_, NodeChannels::Create(collective->comm_));
  }
  return collective;
}

absl::Status MpiCollective::CountLocalRanks() {
  MPI_Comm host = MPI_COMM_NULL;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_rank(host, &local_rank_));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_size(host, &local_ranks_));
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_free(&host));
  return absl::OkStatus();
}

void MpiCollective::Free() {
  if (channels_ != nullptr) channels_->Free();
  (void)MPI_Op_free(&sum_bf16_);
  (void)MPI_Comm_free(&comm_);
}

absl::Status MpiCollective::SendHeaders(absl::Span<const RoundHeader> headers, Deadline deadline) {
  MpiRequests requests = NewRequests();
  for (int to = 0; to < ranks_; ++to) {
    const auto* header = reinterpret_cast<const std::byte*>(&headers[static_cast<size_t>(to)]);
    if (to != rank_) ENGRAM_RETURN_IF_ERROR(requests.Send(to, kHeaderTag, {header, sizeof(RoundHeader)}));
  }
  // Rung only when they are out: who wakes finds its header.
  ENGRAM_RETURN_IF_ERROR(requests.Await(deadline));
  for (int to = 0; to < ranks_ && channels_ != nullptr; ++to) {
    if (channels_->Reaches(to)) channels_->Ring(to);
  }
  return absl::OkStatus();
}

absl::Status MpiCollective::TakeHeader(RoundHeader& header, Deadline deadline) {
  NodeChannels::Message message;
  Backoff backoff(kIdlePacing);
  for (;;) {
    const uint32_t rings = channels_->Rings();
    if (channels_->Peek(kAsker, message)) break;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds::zero()) return Unasked();
    if (!backoff.Sleeps()) {
      backoff.Pause();
      continue;
    }
    channels_->Sleep(rings, std::min<std::chrono::nanoseconds>(left, kBellSleepMax));
    if (channels_->Rings() != rings) backoff = Backoff(kIdlePacing);
  }
  const size_t bytes = message.tag == kHeaderTag ? message.bytes.size() : 0;
  std::memcpy(&header, message.bytes.data(), std::min(bytes, sizeof(header)));
  channels_->Take(kAsker);
  return CheckHeader(header, bytes);
}

absl::Status MpiCollective::ReceiveHeader(RoundHeader& header, Deadline deadline) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Irecv(&header, sizeof(header), MPI_BYTE, kAsker, kHeaderTag, comm_, &request));
  Backoff backoff(kIdlePacing);
  for (int done = 0; done == 0;) {
    const absl::Status tested = MpiStatus(MPI_Test(&request, &done, &status), "MPI_Test");
    const bool late = tested.ok() && done == 0 && HasPassed(deadline);
    if (tested.ok() && !late) {
      if (done == 0) backoff.Pause();
      continue;
    }
    if (request != MPI_REQUEST_NULL) (void)MPI_Cancel(&request);  // `header` is about to go
    return late ? Unasked() : tested;
  }
  int bytes = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Get_count(&status, MPI_BYTE, &bytes));
  return CheckHeader(header, static_cast<size_t>(bytes));
}

absl::StatusOr<RoundHeader> MpiCollective::AwaitHeader(Deadline deadline) {
  RoundHeader header;
  const bool by_box = channels_ != nullptr && channels_->Reaches(kAsker);
  ENGRAM_RETURN_IF_ERROR(by_box ? TakeHeader(header, deadline) : ReceiveHeader(header, deadline));
  return header;
}

absl::Status MpiCollective::Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) {
  for (size_t at = 0; at < bytes.size(); at += part_bytes_max_) {
    const auto count = static_cast<int>(std::min(bytes.size() - at, part_bytes_max_));
    MpiRequests requests = NewRequests();
    MPI_Request request = MPI_REQUEST_NULL;
    ENGRAM_RETURN_IF_MPI_ERROR(MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, root, comm_, &request));
    requests.Add(request);
    ENGRAM_RETURN_IF_ERROR(requests.Await(deadline));
  }
  return absl::OkStatus();
}

absl::Status MpiCollective::Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts,
                                    absl::Span<std::byte> mine, Deadline deadline) {
  MpiRequests requests = NewRequests();
  if (rank_ != root) ENGRAM_RETURN_IF_ERROR(requests.Receive(root, kScatterTag, mine));
  for (size_t to = 0; rank_ == root && to < parts.size(); ++to) {
    if (static_cast<int>(to) != root) {
      ENGRAM_RETURN_IF_ERROR(requests.Send(static_cast<int>(to), kScatterTag, parts[to]));
    }
  }
  return requests.Await(deadline);
}

absl::Status MpiCollective::Gather(int root, absl::Span<const std::byte> mine,
                                   absl::Span<const absl::Span<std::byte>> parts, Deadline deadline) {
  MpiRequests requests = NewRequests();
  if (rank_ != root) ENGRAM_RETURN_IF_ERROR(requests.Send(root, kGatherTag, mine));
  for (size_t from = 0; rank_ == root && from < parts.size(); ++from) {
    if (static_cast<int>(from) != root) {
      ENGRAM_RETURN_IF_ERROR(requests.Receive(static_cast<int>(from), kGatherTag, parts[from]));
    }
  }
  return requests.Await(deadline);
}

absl::StatusOr<SharedMemory> MpiCollective::ShareMemory(uint64_t bytes, Deadline deadline) {
  if (!share_memory_) return SharedMemory();
  const auto limit = std::max<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now(), {});
  const Watchdog watchdog("sharing memory between the ranks of a node", absl::FromChrono(limit));
  return ShareMemoryOfFirstRank(comm_, bytes);
}

absl::Status MpiCollective::Reduce(void* data, size_t count, size_t element_bytes, MPI_Datatype type, MPI_Op op,
                                   Deadline deadline) {
  const size_t count_max = part_bytes_max_ / element_bytes;
  for (size_t at = 0; at < count; at += count_max) {
    const auto part = static_cast<int>(std::min(count - at, count_max));
    MpiRequests requests = NewRequests();
    MPI_Request request = MPI_REQUEST_NULL;
    ENGRAM_RETURN_IF_MPI_ERROR(MPI_Iallreduce(MPI_IN_PLACE, static_cast<std::byte*>(data) + at * element_bytes, part,
                                              type, op, comm_, &request));
    requests.Add(request);
    ENGRAM_RETURN_IF_ERROR(requests.Await(deadline));
  }
  return absl::OkStatus();
}

absl::Status MpiCollective::AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) {
  return Reduce(words.data(), words.size(), sizeof(uint64_t), MPI_UINT64_T, MPI_SUM, deadline);
}

absl::Status MpiCollective::AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) {
  return Reduce(values.data(), values.size(), sizeof(uint16_t), MPI_UINT16_T, sum_bf16_, deadline);
}

}  // namespace engram
