#include "shard/gpu/nccl_comm.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shard/backoff.h"
#include "shard/watchdog.h"

namespace engram {
namespace {

// From rank 0 to all. It is sent in any case, so that nobody waits for an id that does not come.
struct Bootstrap {
  ncclUniqueId id = {};
  int32_t result = ncclSuccess;
};

constexpr absl::Duration kAbortTimeout = absl::Seconds(30);

bool IsError(ncclResult_t result) { return result != ncclSuccess && result != ncclInProgress; }

}  // namespace

absl::StatusOr<std::unique_ptr<NcclComm>> NcclComm::Create(Collective& host, int device, Deadline deadline) {
  Bootstrap bootstrap;
  if (host.rank() == 0) bootstrap.result = ncclGetUniqueId(&bootstrap.id);
  ENGRAM_RETURN_IF_ERROR(BroadcastRecord(host, 0, bootstrap, deadline));
  ENGRAM_RETURN_IF_ERROR(NcclStatus(static_cast<ncclResult_t>(bootstrap.result), "ncclGetUniqueId on rank 0"));
  std::unique_ptr<NcclComm> comm(new NcclComm(host.rank(), host.ranks(), device));
  ENGRAM_RETURN_IF_ERROR(comm->Init(bootstrap.id, deadline));
  return comm;
}

absl::Status NcclComm::Init(const ncclUniqueId& id, Deadline deadline) {
  ENGRAM_RETURN_IF_ERROR(UseDevice(device_));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  peers_.resize(static_cast<size_t>(ranks_));
  std::iota(peers_.begin(), peers_.end(), 0);
  const ncclResult_t result = ncclCommInitRankConfig(&comm_, ranks_, id, rank_, &config);
  ENGRAM_RETURN_IF_ERROR(Settle(result, "ncclCommInitRankConfig", deadline));
  peers_.clear();
  return absl::OkStatus();
}

NcclComm::~NcclComm() { Abort(absl::CancelledError("the NCCL communicator is gone")); }

void NcclComm::Abort(absl::Status why) {
  if (comm_ == nullptr) return;
  // NCCL may wait in it for threads that wait for a lost peer.
  const Watchdog watchdog("ncclCommAbort", kAbortTimeout);
  DropNcclError(ncclCommAbort(std::exchange(comm_, nullptr)));
  failure_ = std::move(why);
}

absl::Status NcclComm::Fail(absl::Status error) {
  error = Annotate(error, absl::StrCat("rank ", rank_, " of ", ranks_, ", device ", device_));
  Abort(error);
  return error;
}

absl::Status NcclComm::Silence(std::string_view what) const {
  std::vector<int> others;
  std::copy_if(peers_.begin(), peers_.end(), std::back_inserter(others), [this](int peer) { return peer != rank_; });
  const std::string who = others.empty()       ? "the device"
                          : others.size() == 1 ? absl::StrCat("rank ", others.front())
                                               : absl::StrCat("one of ranks ", absl::StrJoin(others, ", "));
  return absl::UnavailableError(absl::StrCat(std::string(what), ": no answer in time from ", who));
}

absl::Status NcclComm::Settle(ncclResult_t result, std::string_view call, Deadline deadline) {
  Backoff backoff(kRoundPacing);
  while (result == ncclInProgress && !HasPassed(deadline)) {
    if (const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result); asked != ncclSuccess) result = asked;
    if (result == ncclInProgress) backoff.Pause();
  }
  if (result == ncclSuccess) return absl::OkStatus();
  return Fail(result == ncclInProgress ? Silence(call) : NcclError(result, call));
}

absl::Status NcclComm::Close(Deadline deadline) {
  if (comm_ == nullptr) return failure_;
  ENGRAM_RETURN_IF_ERROR(Settle(ncclCommFinalize(comm_), "ncclCommFinalize", deadline));
  ENGRAM_RETURN_IF_NCCL_ERROR(ncclCommDestroy(std::exchange(comm_, nullptr)));
  return absl::OkStatus();
}

absl::Status NcclComm::AllReduceSum(uint8_t* bytes, uint64_t count, const Stream& stream, Deadline deadline) {
  return AllReduce(bytes, count, ncclUint8, stream, deadline);
}

absl::Status NcclComm::AllReduceSum(uint64_t* words, uint64_t count, const Stream& stream, Deadline deadline) {
  return AllReduce(words, count, ncclUint64, stream, deadline);
}

absl::Status NcclComm::AllReduceSumBf16(uint16_t* values, uint64_t count, const Stream& stream, Deadline deadline) {
  return AllReduce(values, count, ncclBfloat16, stream, deadline);
}

absl::Status NcclComm::AllReduce(void* data, uint64_t count, ncclDataType_t type, const Stream& stream,
                                 Deadline deadline) {
  if (comm_ == nullptr) return failure_;
  if (count == 0) return absl::OkStatus();
  peers_.resize(static_cast<size_t>(ranks_));
  std::iota(peers_.begin(), peers_.end(), 0);
  if (const absl::Status used = UseDevice(device_); !used.ok()) return Fail(used);
  const ncclResult_t result = ncclAllReduce(data, data, count, type, ncclSum, comm_, stream.get());
  return Settle(result, "ncclAllReduce", deadline);
}

ncclResult_t NcclComm::Group(absl::Span<const DevicePart> sends, absl::Span<const DevicePart> receives,
                             cudaStream_t stream) {
  ncclResult_t result = ncclGroupStart();
  if (IsError(result)) return result;
  for (const DevicePart& part : sends) {
    if (part.bytes > 0 && !IsError(result)) {
      result = ncclSend(part.data, part.bytes, ncclUint8, part.peer, comm_, stream);
    }
  }
  for (const DevicePart& part : receives) {
    if (part.bytes > 0 && !IsError(result)) {
      result = ncclRecv(part.data, part.bytes, ncclUint8, part.peer, comm_, stream);
    }
  }
  const ncclResult_t ended = ncclGroupEnd();  // also after an error: an open group would swallow the next call
  return IsError(result) ? result : ended;
}

void NcclComm::NamePeers(absl::Span<const DevicePart> sends, absl::Span<const DevicePart> receives) {
  for (const absl::Span<const DevicePart> parts : {sends, receives}) {
    for (const DevicePart& part : parts) {
      if (part.bytes > 0) peers_.push_back(part.peer);
    }
  }
  std::sort(peers_.begin(), peers_.end());
  peers_.erase(std::unique(peers_.begin(), peers_.end()), peers_.end());
}

absl::Status NcclComm::Exchange(absl::Span<const DevicePart> sends, absl::Span<const DevicePart> receives,
                                const Stream& stream, Deadline deadline) {
  if (comm_ == nullptr) return failure_;
  NamePeers(sends, receives);
  if (const absl::Status used = UseDevice(device_); !used.ok()) return Fail(used);
  return Settle(Group(sends, receives, stream.get()), "a group of ncclSend and ncclRecv", deadline);
}

absl::Status NcclComm::Await(const Event& event, std::string_view what, Deadline deadline) {
  if (comm_ == nullptr) return failure_;
  Backoff backoff(kRoundPacing);
  for (;;) {
    const absl::StatusOr<bool> reached = event.IsReached();
    if (!reached.ok()) return Fail(Annotate(reached.status(), std::string(what)));
    ncclResult_t between = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &between);
    if (IsError(asked) || IsError(between)) return Fail(NcclError(IsError(asked) ? asked : between, what));
    if (*reached) break;
    if (HasPassed(deadline)) return Fail(Silence(what));
    backoff.Pause();
  }
  peers_.clear();
  return absl::OkStatus();
}

}  // namespace engram
