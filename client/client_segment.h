// Memory that this client shares with a server on the same host: rows arrive there instead of in messages.

#ifndef ENGRAM_CLIENT_CLIENT_SEGMENT_H_
#define ENGRAM_CLIENT_CLIENT_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "model/mutex.h"

namespace engram {

struct SharedMemoryOptions {
  // Of a segment, which each connection has one of; 0: none, rows come in messages. Enough for the rows of all steps
  // that are in flight and of all results that are kept: the rows of a step that finds no place come in messages.
  uint64_t bytes = 0;
  std::string name_prefix = "/engram-";  // as the server's shared_memory.name_prefix
  // A server that does not offer it, refuses the segment or is on another host is not served from:
  // FAILED_PRECONDITION. Otherwise rows come from it in messages.
  bool required = false;
};

class SegmentPlace;

// Life cycle: Create, Unlink once the server has it, unmapped with the last reference, which places hold too.
// Thread-safe.
class ClientSegment : public std::enable_shared_from_this<ClientSegment> {
 public:
  static constexpr uint32_t kId = 1;  // on its stream, which has no other

  // A new object under a random name, readable and writable by this user alone, its memory there and mapped: the
  // server finds no page missing. INVALID_ARGUMENT for a name prefix that shm_open does not take; RESOURCE_EXHAUSTED
  // naming the size when /dev/shm has no room for it.
  static absl::StatusOr<std::shared_ptr<ClientSegment>> Create(const SharedMemoryOptions& options);
  ~ClientSegment();
  ClientSegment(const ClientSegment&) = delete;
  ClientSegment& operator=(const ClientSegment&) = delete;

  const std::string& name() const { return name_; }
  uint64_t bytes() const { return bytes_; }
  // Takes the name away; the memory stays as long as somebody has it mapped.
  void Unlink();

  // So many bytes in one piece, `bytes` > 0; null when there are none.
  std::shared_ptr<SegmentPlace> Take(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t free_bytes() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend class SegmentPlace;
  ClientSegment(std::string name, uint8_t* data, uint64_t bytes)
      : name_(std::move(name)), data_(data), bytes_(bytes), free_{{0, bytes}} {}
  void GiveBack(uint64_t offset, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mu_);

  const std::string name_;
  uint8_t* const data_;
  const uint64_t bytes_;
  std::atomic<bool> linked_{true};
  mutable Mutex mu_;
  std::map<uint64_t, uint64_t> free_ ABSL_GUARDED_BY(mu_);  // sizes by offset; no two touch
};

// A piece of a segment, given back when destroyed.
class SegmentPlace {
 public:
  SegmentPlace(std::shared_ptr<ClientSegment> segment, uint64_t offset, uint64_t bytes, uint64_t reserved)
      : segment_(std::move(segment)), offset_(offset), bytes_(bytes), reserved_(reserved) {}
  ~SegmentPlace() { segment_->GiveBack(offset_, reserved_); }
  SegmentPlace(const SegmentPlace&) = delete;
  SegmentPlace& operator=(const SegmentPlace&) = delete;

  uint8_t* data() const { return segment_->data_ + offset_; }
  uint64_t offset() const { return offset_; }  // within the segment
  uint64_t bytes() const { return bytes_; }

 private:
  const std::shared_ptr<ClientSegment> segment_;
  const uint64_t offset_;
  const uint64_t bytes_;
  const uint64_t reserved_;  // of the segment
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_CLIENT_SEGMENT_H_
