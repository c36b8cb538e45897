// What the ranks of a job say to each other.

#ifndef ENGRAM_SHARD_COLLECTIVE_H_
#define ENGRAM_SHARD_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/deadline.h"
#include "shard/round_header.h"

namespace engram {

// Memory of rank 0 that other ranks of its host see too.
struct SharedMemory {
  absl::Span<std::byte> bytes;        // as this rank sees it, zeroed at first; empty: not at all
  std::vector<bool> seen_by;          // [ranks]; at rank 0 alone
  std::shared_ptr<const void> owner;  // keeps it; null: it stays until the process ends
};

// One rank's end. Used by that rank's engine thread alone.
//
// Every operation is collective: all ranks call the same ones in the same order with the same sizes and root. An
// operation returns when this rank's buffers are free again, which does not mean that all others have returned. Sizes
// may be 0, and a part of 0 bytes moves nothing.
//
// Every wait ends by its deadline: UNAVAILABLE naming the ranks that did not answer where they are known. INTERNAL when
// a message has another size than this rank expects. After an error the job is lost: only destruction is left.
class Collective {
 public:
  virtual ~Collective() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual int local_rank() const = 0;   // among the ranks on this host, in their order
  virtual int local_ranks() const = 0;  // how many those are

  // Opens a round: headers[r] goes to rank r, which is woken; that of the caller is ignored. [ranks].
  virtual absl::Status SendHeaders(absl::Span<const RoundHeader> headers, Deadline deadline) = 0;
  // Waits for one, cheaply: this is where an idle rank spends its life.
  virtual absl::StatusOr<RoundHeader> AwaitHeader(Deadline deadline) = 0;

  // Root's bytes to all ranks.
  virtual absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) = 0;

  // parts[r] of the root to `mine` of rank r. The root's own part is not moved. `parts`: [ranks] at the root, else
  // empty.
  virtual absl::Status Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts,
                               absl::Span<std::byte> mine, Deadline deadline) = 0;
  // The way back: `mine` of rank r to parts[r] of the root.
  virtual absl::Status Gather(int root, absl::Span<const std::byte> mine, absl::Span<const absl::Span<std::byte>> parts,
                              Deadline deadline) = 0;

  // Collective: fresh `bytes` of memory of rank 0 (whose number counts) for the ranks that can see it. None of
  // it where there is no such memory or not so much: `bytes` is empty then, and nobody else sees any.
  virtual absl::StatusOr<SharedMemory> ShareMemory(uint64_t /*bytes*/, Deadline /*deadline*/) { return SharedMemory(); }

  // Element-wise sums over all ranks, in place, at every rank. 64-bit words wrap; bf16 adds in fp32 and rounds once an
  // addition, NaN becoming 0x7FC0.
  virtual absl::Status AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) = 0;
  virtual absl::Status AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) = 0;
};

// Fixed-size records, one of each rank, to all of them at the root ([ranks]; empty elsewhere).
template <typename Record>
absl::StatusOr<std::vector<Record>> GatherRecords(Collective& collective, int root, const Record& mine,
                                                  Deadline deadline) {
  std::vector<Record> records;
  std::vector<absl::Span<std::byte>> parts;
  if (collective.rank() == root) {
    records.resize(static_cast<size_t>(collective.ranks()));
    records[static_cast<size_t>(root)] = mine;
    for (Record& record : records) parts.push_back({reinterpret_cast<std::byte*>(&record), sizeof(Record)});
  }
  absl::Status status =
      collective.Gather(root, {reinterpret_cast<const std::byte*>(&mine), sizeof(Record)}, parts, deadline);
  if (!status.ok()) return status;
  return records;
}

// The root's record to all ranks.
template <typename Record>
absl::Status BroadcastRecord(Collective& collective, int root, Record& record, Deadline deadline) {
  return collective.Broadcast(root, {reinterpret_cast<std::byte*>(&record), sizeof(Record)}, deadline);
}

}  // namespace engram

#endif  // ENGRAM_SHARD_COLLECTIVE_H_
