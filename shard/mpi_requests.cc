#include "shard/mpi_requests.h"

#include <algorithm>
#include <string>

#include "shard/backoff.h"

namespace engram {

bool MpiRequests::IsSmall(int peer, size_t bytes) const {
  return channels_ != nullptr && bytes > 0 && bytes <= NodeChannels::kMessageBytesMax && channels_->Reaches(peer);
}

absl::Status MpiRequests::Send(int to, int tag, absl::Span<const std::byte> bytes) {
  if (IsSmall(to, bytes.size())) {
    small_.push_back({to, tag, bytes, {}});
    return absl::OkStatus();
  }
  for (size_t at = 0; at < bytes.size(); at += part_bytes_max_) {
    const auto count = static_cast<int>(std::min(bytes.size() - at, part_bytes_max_));
    MPI_Request request = MPI_REQUEST_NULL;
    ENGRAM_RETURN_IF_MPI_ERROR(MPI_Isend(bytes.data() + at, count, MPI_BYTE, to, tag, comm_, &request));
    pending_.push_back({request, to, 0});
  }
  return absl::OkStatus();
}

absl::Status MpiRequests::Receive(int from, int tag, absl::Span<std::byte> bytes) {
  if (IsSmall(from, bytes.size())) {
    small_.push_back({from, tag, {}, bytes});
    return absl::OkStatus();
  }
  for (size_t at = 0; at < bytes.size(); at += part_bytes_max_) {
    const auto count = static_cast<int>(std::min(bytes.size() - at, part_bytes_max_));
    MPI_Request request = MPI_REQUEST_NULL;
    ENGRAM_RETURN_IF_MPI_ERROR(MPI_Irecv(bytes.data() + at, count, MPI_BYTE, from, tag, comm_, &request));
    pending_.push_back({request, from, count});
  }
  return absl::OkStatus();
}

absl::Status MpiRequests::TestOne(Pending& pending, bool& done) const {
  int flag = 0;
  MPI_Status status;
  const int result = MPI_Test(&pending.request, &flag, &status);
  int error_class = MPI_SUCCESS;
  if (result != MPI_SUCCESS) MPI_Error_class(result, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) {
    return absl::InternalError(
        absl::StrCat("a message of more than the expected ", pending.receive_bytes, " bytes from rank ", pending.peer));
  }
  ENGRAM_RETURN_IF_ERROR(MpiStatus(result, "MPI_Test"));
  done = flag != 0;
  if (!done || pending.receive_bytes == 0) return absl::OkStatus();
  int count = 0;
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Get_count(&status, MPI_BYTE, &count));
  if (count == pending.receive_bytes) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("a message of ", count, " bytes from rank ", pending.peer, ", expected ", pending.receive_bytes));
}

absl::Status MpiRequests::TestSmall(const Small& small, bool& done) const {
  if (!small.send.empty()) {
    done = channels_->TrySend(small.peer, small.tag, small.send);
    return absl::OkStatus();
  }
  NodeChannels::Message message;
  done = channels_->Peek(small.peer, message);
  if (!done) return absl::OkStatus();
  const size_t bytes = message.bytes.size();
  const bool wanted = message.tag == small.tag && bytes == small.receive.size();
  if (wanted) std::copy(message.bytes.begin(), message.bytes.end(), small.receive.begin());
  channels_->Take(small.peer);
  if (wanted) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a message ", message.tag, " of ", bytes, " bytes from rank ", small.peer,
                                          ", expected ", small.tag, " of ", small.receive.size()));
}

template <typename Item, typename TestItem>
absl::Status MpiRequests::DropDone(std::vector<Item>& items, const TestItem& test) {
  size_t kept = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    bool done = false;
    ENGRAM_RETURN_IF_ERROR(test(items[i], done));
    if (!done) items[kept++] = items[i];
  }
  items.erase(items.begin() + static_cast<ptrdiff_t>(kept), items.end());
  return absl::OkStatus();
}

absl::Status MpiRequests::Test() {
  ENGRAM_RETURN_IF_ERROR(DropDone(small_, [this](const Small& small, bool& done) { return TestSmall(small, done); }));
  return DropDone(pending_, [this](Pending& pending, bool& done) { return TestOne(pending, done); });
}

absl::Status MpiRequests::Silence() const {
  std::string peers;
  for (const Small& small : small_) absl::StrAppend(&peers, peers.empty() ? "" : ", ", small.peer);
  for (const Pending& pending : pending_) {
    if (pending.peer == kAnyPeer) return absl::UnavailableError("no answer in time from a rank");
    absl::StrAppend(&peers, peers.empty() ? "" : ", ", pending.peer);
  }
  return absl::UnavailableError(absl::StrCat("no answer in time from rank ", peers));
}

absl::Status MpiRequests::Await(Deadline deadline) {
  Backoff backoff(kRoundPacing);
  for (;;) {
    ENGRAM_RETURN_IF_ERROR(Test());
    if (pending_.empty() && small_.empty()) return absl::OkStatus();
    if (HasPassed(deadline)) return Silence();
    backoff.Pause();
  }
}

}  // namespace engram
