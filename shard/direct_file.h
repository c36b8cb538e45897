// Reads of an open file past the page cache (O_DIRECT), through it where the file system does not allow that.

#ifndef ENGRAM_SHARD_DIRECT_FILE_H_
#define ENGRAM_SHARD_DIRECT_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "model/files/file.h"

namespace engram {

// A second descriptor of a file's inode, whatever has become of its path. The const functions may be called from any
// thread. A read that the kernel does not do directly is done by the file itself, which also says what is wrong.
class DirectFile {
 public:
  // Of offsets, lengths and memory: enough for every sector size that disks have.
  static constexpr uint64_t kAlignment = 4096;

  // `file` must outlive this. Without `direct` all reads go through the page cache, and need no room beside.
  DirectFile(const File& file, bool direct);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  // What Read needs for `bytes` bytes at any offset: they come with the sectors around them.
  uint64_t RoomFor(uint64_t bytes) const;

  // Bytes [offset, offset + bytes) somewhere in `room`: RoomFor(bytes) bytes, aligned to kAlignment where `direct` was
  // asked for. Returns where. Errors of File::ReadExactly.
  absl::StatusOr<std::byte*> Read(uint64_t offset, uint64_t bytes, std::byte* room) const;

  // 0, or the errno with which the kernel refused direct reads: those after it go through the page cache.
  int refusal() const { return refusal_; }
  const File& file() const { return file_; }

 private:
  // Whole sectors from `offset`, up to the end of the file or the first failure. Returns how many bytes.
  uint64_t ReadSectors(uint64_t offset, uint64_t bytes, std::byte* out) const;

  const File& file_;
  const bool direct_;
  int descriptor_ = -1;
  mutable std::atomic<int> refusal_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_DIRECT_FILE_H_
