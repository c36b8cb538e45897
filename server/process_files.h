// Small files that tell other programs about this process.

#ifndef ENGRAM_SERVER_PROCESS_FILES_H_
#define ENGRAM_SERVER_PROCESS_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace engram {

// A file that is there while this object lives: a reader finds all of it or nothing. An old file of that name goes at
// construction, so nobody takes it for ours. With an empty path nothing happens. Not thread-safe.
class AnnouncementFile {
 public:
  explicit AnnouncementFile(std::string path);
  ~AnnouncementFile();
  AnnouncementFile(const AnnouncementFile&) = delete;
  AnnouncementFile& operator=(const AnnouncementFile&) = delete;

  // Writes beside it, then renames. FAILED_PRECONDITION naming the path and the reason.
  absl::Status Write(const std::string& text);

 private:
  const std::string path_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_FILES_H_
