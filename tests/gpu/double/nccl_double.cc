#include "tests/gpu/double/nccl_double.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "model/number_formats.h"

namespace engram::cuda_double {
namespace {

// A bf16 NaN of the device's own arithmetic; model/ knows another.
constexpr uint16_t kDeviceNan = 0x7FFF;

void AddTo(uint8_t& sum, uint8_t addend) { sum = static_cast<uint8_t>(sum + addend); }
void AddTo(uint64_t& sum, uint64_t addend) { sum += addend; }
void AddTo(uint16_t& sum, uint16_t addend) {
  sum = FloatToBf16(Bf16ToFloat(sum) + Bf16ToFloat(addend));
  if (sum == kBf16Nan) sum = kDeviceNan;
}

// The sum over the ranks in their order, to all of them.
template <typename Element>
void SumAll(const Meeting& meeting) {
  const auto* first = static_cast<const Element*>(meeting.parts[0].from);
  std::vector<Element> sum(first, first + meeting.parts[0].count);
  for (size_t rank = 1; rank < meeting.parts.size(); ++rank) {
    const auto* addends = static_cast<const Element*>(meeting.parts[rank].from);
    for (size_t i = 0; i < sum.size(); ++i) AddTo(sum[i], addends[i]);
  }
  for (const Reduction& part : meeting.parts) std::memcpy(part.to, sum.data(), sum.size() * sizeof(Element));
}

void Sum(const Meeting& meeting) {
  const ncclDataType_t type = meeting.parts[0].type;
  if (type == ncclUint8) SumAll<uint8_t>(meeting);
  if (type == ncclUint64) SumAll<uint64_t>(meeting);
  if (type == ncclBfloat16) SumAll<uint16_t>(meeting);
}

// Real ranks would wait for ever, or mix up their bytes.
void Disagree(Machine& machine, Group& group, std::string what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine.mu) {
  machine.faults.push_back(std::move(what));
  for (auto& [rank, member] : group.members) member->error = ncclInvalidUsage;
}

// One batch on its stream: holds the machine's lock, but not while it waits.
class Run {
 public:
  Run(Machine& machine, Batch& batch)
      : machine_(machine), mine_(*batch.communicator), group_(*mine_.group), batch_(batch) {}

  void Go() ABSL_LOCKS_EXCLUDED(machine_.mu) {
    MutexLock lock(machine_.mu);
    ++mine_.running;
    if (!mine_.aborted) Meet();
    --mine_.running;
    machine_.changed.NotifyAll();
  }

 private:
  void Meet() ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mu) {
    if (batch_.breaks) mine_.error = ncclRemoteError;
    if (batch_.stalls || batch_.breaks) return AwaitAbort();
    for (const Transfer& transfer : batch_.sends) Send(transfer);
    for (const Reduction& reduction : batch_.reductions) Reduce(reduction);
    for (const Transfer& transfer : batch_.receives) Receive(transfer);
    while (!mine_.aborted && !AllTaken()) Wait();
    Withdraw();
  }

  void Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mu) { machine_.changed.WaitFor(machine_.mu, absl::Seconds(1)); }

  void AwaitAbort() ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mu) {
    while (!mine_.aborted) Wait();
  }

  void Send(const Transfer& transfer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mu) {
    sent_.push_back(std::make_shared<Message>(Message{transfer}));
    group_.channels[{mine_.rank, transfer.peer}].push_back(sent_.back());
    machine_.changed.NotifyAll();
  }

  bool AllTaken() const {
    return std::all_of(sent_.begin(), sent_.end(), [](const auto& message) { return message->taken; });
  }

  // What nobody took is not lent any more: its memory may go now.
  void Withdraw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mu) {
    for (const std::shared_ptr<Message>& message : sent_) {
      auto& channel = group_.channels[{mine_.rank, message->transfer.peer}];
      channel.erase(std::remove(channel.begin(), channel.end(), message), channel.end());
    }
  }

  void Receive(const Transfer& mine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mu) {
    auto& channel = group_.channels[{mine.peer, mine_.rank}];
    while (channel.empty() && !mine_.aborted) Wait();
    if (mine_.aborted) return;
    const std::shared_ptr<Message> message = channel.front();
    if (message->transfer.bytes != mine.bytes) {
      Disagree(machine_, group_,
               absl::StrCat("rank ", mine.peer, " sends ", message->transfer.bytes, " bytes, rank ", mine_.rank,
                            " expects ", mine.bytes));
      return AwaitAbort();
    }
    channel.pop_front();
    std::memcpy(mine.data, message->transfer.data, mine.bytes);
    message->taken = true;
    machine_.changed.NotifyAll();
  }

  void Reduce(const Reduction& mine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mu) {
    if (mine_.aborted) return;
    std::shared_ptr<Meeting>& at = group_.meetings[mine.number];
    if (at == nullptr) at = std::make_shared<Meeting>(Meeting{std::vector<Reduction>(group_.ranks, mine)});
    const std::shared_ptr<Meeting> meeting = at;
    const Reduction& theirs = meeting->parts[(mine_.rank + 1) % group_.ranks];
    if (theirs.count != mine.count || theirs.type != mine.type) {
      Disagree(machine_, group_,
               absl::StrCat("all-reduce ", mine.number, ": rank ", mine_.rank, " has ", mine.count,
                            " elements of type ", mine.type, ", another ", theirs.count, " of ", theirs.type));
      meeting->broken = true;
    }
    meeting->parts[mine_.rank] = mine;
    if (++meeting->arrived == group_.ranks && !meeting->broken) {
      Sum(*meeting);
      meeting->complete = true;
      group_.meetings.erase(mine.number);
      machine_.changed.NotifyAll();
    }
    while (!meeting->complete && !mine_.aborted) Wait();
    if (!meeting->complete) meeting->broken = true;
  }

  Machine& machine_;
  Communicator& mine_;
  Group& group_;
  Batch& batch_;
  std::vector<std::shared_ptr<Message>> sent_;
};

}  // namespace

uint64_t SizeOf(ncclDataType_t type) {
  return type == ncclUint8 ? 1 : type == ncclBfloat16 ? 2 : type == ncclUint64 ? 8 : 0;
}

void RunBatch(Batch& batch) { Run(TheMachine(), batch).Go(); }

void EnqueueBatch(Machine& machine, Batch batch) {
  const std::shared_ptr<Stream> stream = FindStream(machine, batch.stream);
  if (stream == nullptr) {
    batch.communicator->error = ncclUnhandledCudaError;
    return;
  }
  Enqueue(machine, *stream, [shared = std::make_shared<Batch>(std::move(batch))] { RunBatch(*shared); });
}

}  // namespace engram::cuda_double
