#include "shard/in_process_collective.h"

#include <algorithm>

#include "model/files/errors.h"
#include "shard/anonymous_memory.h"
#include "shard/bf16_sum.h"

namespace engram {
namespace {

template <typename Element>
absl::Span<std::byte> BytesOf(absl::Span<Element> elements) {
  return {reinterpret_cast<std::byte*>(elements.data()), elements.size() * sizeof(Element)};
}

}  // namespace

absl::Status InProcessCollective::Send(int to, absl::Span<const std::byte> bytes, Deadline deadline) {
  group_->Post(rank_, to, bytes);
  return group_->Flush(rank_, deadline);
}

absl::Status InProcessCollective::Receive(int from, absl::Span<std::byte> bytes, Deadline deadline) {
  return group_->Take(from, rank_, bytes.size(), deadline, [bytes](absl::Span<const std::byte> sent) {
    std::copy_n(sent.data(), sent.size(), bytes.data());
  });
}

absl::Status InProcessCollective::SendHeaders(absl::Span<const RoundHeader> headers, Deadline deadline) {
  for (int to = 0; to < ranks(); ++to) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&headers[static_cast<size_t>(to)]);
    if (to != rank_) group_->Post(rank_, to, {bytes, sizeof(RoundHeader)});
  }
  return group_->Flush(rank_, deadline);
}

absl::StatusOr<RoundHeader> InProcessCollective::AwaitHeader(Deadline deadline) {
  RoundHeader header;
  ENGRAM_RETURN_IF_ERROR(Receive(0, {reinterpret_cast<std::byte*>(&header), sizeof(header)}, deadline));
  return header;
}

absl::Status InProcessCollective::Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) {
  if (bytes.empty()) return absl::OkStatus();
  if (rank_ != root) return Receive(root, bytes, deadline);
  for (int to = 0; to < ranks(); ++to) {
    if (to != rank_) group_->Post(rank_, to, bytes);
  }
  return group_->Flush(rank_, deadline);
}

absl::Status InProcessCollective::Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts,
                                          absl::Span<std::byte> mine, Deadline deadline) {
  if (rank_ != root) return mine.empty() ? absl::OkStatus() : Receive(root, mine, deadline);
  for (int to = 0; to < ranks(); ++to) {
    const absl::Span<const std::byte> part = parts[static_cast<size_t>(to)];
    if (to != rank_ && !part.empty()) group_->Post(rank_, to, part);
  }
  return group_->Flush(rank_, deadline);
}

absl::Status InProcessCollective::Gather(int root, absl::Span<const std::byte> mine,
                                         absl::Span<const absl::Span<std::byte>> parts, Deadline deadline) {
  if (rank_ != root) return mine.empty() ? absl::OkStatus() : Send(root, mine, deadline);
  for (int from = 0; from < ranks(); ++from) {
    const absl::Span<std::byte> part = parts[static_cast<size_t>(from)];
    if (from != rank_ && !part.empty()) ENGRAM_RETURN_IF_ERROR(Receive(from, part, deadline));
  }
  return absl::OkStatus();
}

absl::Status InProcessCollective::ReduceAtFirst(absl::Span<std::byte> bytes,
                                                absl::FunctionRef<void(absl::Span<const std::byte>)> add,
                                                Deadline deadline) {
  if (bytes.empty()) return absl::OkStatus();
  if (rank_ != 0) {
    ENGRAM_RETURN_IF_ERROR(Send(0, bytes, deadline));
    return Receive(0, bytes, deadline);
  }
  for (int from = 1; from < ranks(); ++from) {
    ENGRAM_RETURN_IF_ERROR(group_->Take(from, rank_, bytes.size(), deadline, add));
  }
  return Broadcast(0, bytes, deadline);
}

// The threads of a process see all of its memory: the first rank says where it is.
absl::StatusOr<SharedMemory> InProcessCollective::ShareMemory(uint64_t bytes, Deadline deadline) {
  std::shared_ptr<AnonymousMemory> owner;
  absl::Span<std::byte> shared;
  if (rank_ == 0) {
    absl::StatusOr<AnonymousMemory> memory = AnonymousMemory::Allocate(bytes, "replies shared between ranks");
    if (memory.ok()) owner = std::make_shared<AnonymousMemory>(*std::move(memory));
    if (owner != nullptr) shared = {owner->data(), owner->size()};
  }
  ENGRAM_RETURN_IF_ERROR(BroadcastRecord(*this, 0, shared, deadline));
  SharedMemory memory{shared, {}, owner};
  if (owner != nullptr) memory.seen_by.assign(static_cast<size_t>(ranks()), true);
  return memory;
}

absl::Status InProcessCollective::AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) {
  const auto add = [words](absl::Span<const std::byte> sent) {
    const auto* addends = reinterpret_cast<const uint64_t*>(sent.data());
    for (size_t i = 0; i < words.size(); ++i) words[i] += addends[i];
  };
  return ReduceAtFirst(BytesOf(words), add, deadline);
}

absl::Status InProcessCollective::AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) {
  const auto add = [values](absl::Span<const std::byte> sent) {
    AddBf16(values.data(), reinterpret_cast<const uint16_t*>(sent.data()), values.size());
  };
  return ReduceAtFirst(BytesOf(values), add, deadline);
}

}  // namespace engram
