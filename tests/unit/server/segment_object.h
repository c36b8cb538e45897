// An object of shared memory, as a client makes it.

#ifndef ENGRAM_TESTS_UNIT_SERVER_SEGMENT_OBJECT_H_
#define ENGRAM_TESTS_UNIT_SERVER_SEGMENT_OBJECT_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engram/v1/engram.pb.h"

namespace engram {

inline std::string UniqueName(const std::string& prefix = "/engram-test-") {
  static std::atomic<int> last{0};
  return absl::StrCat(prefix, getpid(), "-", ++last);
}

class SegmentObject {
 public:
  explicit SegmentObject(uint64_t bytes, mode_t mode = 0600, std::string name = UniqueName())
      : name_(std::move(name)), bytes_(bytes), file_(shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)) {
    EXPECT_GE(file_, 0) << name_;
    EXPECT_EQ(fchmod(file_, mode), 0);
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(bytes)), 0);
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    EXPECT_NE(data_, MAP_FAILED);
  }
  ~SegmentObject() {
    munmap(data_, bytes_);
    close(file_);
    shm_unlink(name_.c_str());
  }
  SegmentObject(const SegmentObject&) = delete;
  SegmentObject& operator=(const SegmentObject&) = delete;

  const std::string& name() const { return name_; }
  char* data() { return static_cast<char*>(data_); }
  std::string Read(uint64_t offset, uint64_t bytes) { return std::string(data() + offset, bytes); }
  void Fill(char byte) { std::fill_n(data(), bytes_, byte); }
  void Resize(uint64_t bytes) { ASSERT_EQ(ftruncate(file_, static_cast<off_t>(bytes)), 0); }
  int file() const { return file_; }

  v1::ClientMessage Registration(uint32_t segment_id) const {
    v1::ClientMessage message;
    message.mutable_register_segment()->set_segment_id(segment_id);
    message.mutable_register_segment()->set_name(name_);
    message.mutable_register_segment()->set_bytes(bytes_);
    return message;
  }

 private:
  const std::string name_;
  const uint64_t bytes_;
  const int file_;
  void* data_ = nullptr;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_SEGMENT_OBJECT_H_
