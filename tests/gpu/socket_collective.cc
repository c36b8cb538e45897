#include "tests/gpu/socket_collective.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/bf16_sum.h"

namespace engram {
namespace {

template <typename Element>
absl::Span<std::byte> BytesOf(absl::Span<Element> elements) {
  return {reinterpret_cast<std::byte*>(elements.data()), elements.size() * sizeof(Element)};
}

template <typename Record>
absl::Span<const std::byte> BytesOfRecord(const Record& record) {
  return {reinterpret_cast<const std::byte*>(&record), sizeof(Record)};
}

absl::Status Left(int peer) { return absl::UnavailableError(absl::StrCat("rank ", peer, " has left")); }

// poll() takes whole milliseconds as int; never less than what is left.
int MillisecondsUntil(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  constexpr std::chrono::milliseconds kAtOnceMax = std::chrono::hours(1);
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), kAtOnceMax).count());
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ != kNone) (void)close(fd_);
}

absl::StatusOr<SocketMesh> SocketMesh::Create(int ranks) {
  SocketMesh mesh;
  mesh.ends_.resize(static_cast<size_t>(ranks));
  for (auto& ends : mesh.ends_) ends.resize(static_cast<size_t>(ranks));
  for (size_t rank = 0; rank < mesh.ends_.size(); ++rank) {
    for (size_t peer = rank + 1; peer < mesh.ends_.size(); ++peer) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        return absl::ResourceExhaustedError(
            absl::StrCat("socketpair for ranks ", rank, " and ", peer, " of ", ranks, ": ", std::strerror(errno)));
      }
      mesh.ends_[rank][peer] = Descriptor(pair[0]);
      mesh.ends_[peer][rank] = Descriptor(pair[1]);
    }
  }
  return mesh;
}

std::vector<Descriptor> SocketMesh::Take(int rank) { return std::move(ends_[static_cast<size_t>(rank)]); }

absl::Status SocketCollective::AwaitPeer(int peer, int16_t events, int error, Deadline deadline) {
  if (error == EPIPE || error == ECONNRESET) return Left(peer);
  if (error == EINTR) return absl::OkStatus();
  if (error != EAGAIN) {
    return absl::InternalError(absl::StrCat("the socket to rank ", peer, ": ", std::strerror(error)));
  }
  if (HasPassed(deadline)) {
    return absl::UnavailableError(
        absl::StrCat("no answer in time ", events == POLLIN ? "from" : "to a message to", " rank ", peer));
  }
  pollfd waited = {ends_[static_cast<size_t>(peer)].get(), events, 0};
  (void)poll(&waited, 1, MillisecondsUntil(deadline));  // whatever it says, the next call on the socket knows
  return absl::OkStatus();
}

absl::Status SocketCollective::Write(int to, absl::Span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(ends_[static_cast<size_t>(to)].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else {
      ENGRAM_RETURN_IF_ERROR(AwaitPeer(to, POLLOUT, errno, deadline));
    }
  }
  return absl::OkStatus();
}

absl::Status SocketCollective::Read(int from, absl::Span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t received = recv(ends_[static_cast<size_t>(from)].get(), bytes.data(), bytes.size(), 0);
    if (received == 0) return Left(from);
    if (received > 0) {
      bytes.remove_prefix(static_cast<size_t>(received));
    } else {
      ENGRAM_RETURN_IF_ERROR(AwaitPeer(from, POLLIN, errno, deadline));
    }
  }
  return absl::OkStatus();
}

absl::Status SocketCollective::Send(int to, absl::Span<const std::byte> bytes, Deadline deadline) {
  const uint64_t size = bytes.size();
  ENGRAM_RETURN_IF_ERROR(Write(to, BytesOfRecord(size), deadline));
  return Write(to, bytes, deadline);
}

absl::Status SocketCollective::Receive(int from, absl::Span<std::byte> bytes, Deadline deadline) {
  uint64_t size = 0;
  ENGRAM_RETURN_IF_ERROR(Read(from, BytesOf(absl::MakeSpan(&size, 1)), deadline));
  if (size != bytes.size()) {
    return absl::InternalError(
        absl::StrCat("rank ", from, " sent ", size, " bytes, rank ", rank_, " expected ", bytes.size()));
  }
  return Read(from, bytes, deadline);
}

absl::Status SocketCollective::SendHeaders(absl::Span<const RoundHeader> headers, Deadline deadline) {
  for (int to = 0; to < ranks(); ++to) {
    if (to != rank_) ENGRAM_RETURN_IF_ERROR(Send(to, BytesOfRecord(headers[static_cast<size_t>(to)]), deadline));
  }
  return absl::OkStatus();
}

// Rank 0 alone asks.
absl::StatusOr<RoundHeader> SocketCollective::AwaitHeader(Deadline deadline) {
  RoundHeader header;
  ENGRAM_RETURN_IF_ERROR(Receive(0, BytesOf(absl::MakeSpan(&header, 1)), deadline));
  return header;
}

absl::Status SocketCollective::Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) {
  const std::vector<absl::Span<const std::byte>> parts(rank_ == root ? ends_.size() : 0, bytes);
  return Scatter(root, parts, rank_ == root ? absl::Span<std::byte>() : bytes, deadline);
}

absl::Status SocketCollective::Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts,
                                       absl::Span<std::byte> mine, Deadline deadline) {
  if (rank_ != root) return mine.empty() ? absl::OkStatus() : Receive(root, mine, deadline);
  for (int to = 0; to < ranks(); ++to) {
    const absl::Span<const std::byte> part = parts[static_cast<size_t>(to)];
    if (to != rank_ && !part.empty()) ENGRAM_RETURN_IF_ERROR(Send(to, part, deadline));
  }
  return absl::OkStatus();
}

absl::Status SocketCollective::Gather(int root, absl::Span<const std::byte> mine,
                                      absl::Span<const absl::Span<std::byte>> parts, Deadline deadline) {
  if (rank_ != root) return mine.empty() ? absl::OkStatus() : Send(root, mine, deadline);
  for (int from = 0; from < ranks(); ++from) {
    const absl::Span<std::byte> part = parts[static_cast<size_t>(from)];
    if (from != rank_ && !part.empty()) ENGRAM_RETURN_IF_ERROR(Receive(from, part, deadline));
  }
  return absl::OkStatus();
}

absl::Status SocketCollective::ReduceAtFirst(absl::Span<std::byte> bytes, absl::FunctionRef<void(const std::byte*)> add,
                                             Deadline deadline) {
  if (bytes.empty()) return absl::OkStatus();
  std::vector<std::byte> addends(rank_ == 0 ? bytes.size() : 0);
  for (int from = 1; rank_ == 0 && from < ranks(); ++from) {
    ENGRAM_RETURN_IF_ERROR(Receive(from, absl::MakeSpan(addends), deadline));
    add(addends.data());
  }
  if (rank_ != 0) ENGRAM_RETURN_IF_ERROR(Send(0, bytes, deadline));
  return Broadcast(0, bytes, deadline);
}

absl::Status SocketCollective::AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) {
  const auto add = [words](const std::byte* received) {
    const auto* addends = reinterpret_cast<const uint64_t*>(received);
    for (size_t i = 0; i < words.size(); ++i) words[i] += addends[i];
  };
  return ReduceAtFirst(BytesOf(words), add, deadline);
}

absl::Status SocketCollective::AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) {
  const auto add = [values](const std::byte* received) {
    AddBf16(values.data(), reinterpret_cast<const uint16_t*>(received), values.size());
  };
  return ReduceAtFirst(BytesOf(values), add, deadline);
}

}  // namespace engram
