// Shared memory that a client has made and this server writes into.

#ifndef ENGRAM_SERVER_MAPPED_SEGMENT_H_
#define ENGRAM_SERVER_MAPPED_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace engram {

// What the configuration allows (`shared_memory`).
struct SegmentRules {
  bool enabled = false;
  uint64_t bytes_max = 0;     // of one segment
  uint32_t segments_max = 0;  // of a stream
  std::string name_prefix;
  std::vector<uint32_t> owner_uids;  // besides our own user
};

// Life cycle: Open, Write from any thread, unmapped with the last reference. The client may change or shrink the object
// at any moment: nothing is ever read from it, and a write that runs into its missing end fails alone.
class MappedSegment {
 public:
  // Maps the first `bytes` of the object that shm_open knows as `name`, without touching a page. Errors, each naming
  // field, value and bound: INVALID_ARGUMENT (name, bytes, an object that is too small or not regular),
  // RESOURCE_EXHAUSTED (bytes_max; files or memory lack), NOT_FOUND (no such object on this host), PERMISSION_DENIED
  // (owner, mode, a symbolic link, what the system refuses).
  static absl::StatusOr<std::shared_ptr<MappedSegment>> Open(const std::string& name, uint64_t bytes,
                                                             const SegmentRules& rules);
  ~MappedSegment();
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;

  uint64_t bytes() const { return bytes_; }
  // [offset, offset + data.size()) lies within bytes(). DATA_LOSS naming the range when the object has become smaller,
  // or has no memory for it: then any part of `data` is there.
  absl::Status Write(uint64_t offset, absl::Span<const std::byte> data);

 private:
  MappedSegment(std::string name, std::byte* data, uint64_t bytes)
      : name_(std::move(name)), data_(data), bytes_(bytes) {}

  const std::string name_;
  std::byte* const data_;
  const uint64_t bytes_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_MAPPED_SEGMENT_H_
