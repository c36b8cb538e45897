// Small files that tell other programs about this process.

#ifndef ENGRAM_SERVER_PROCESS_FILES_H_
#define ENGRAM_SERVER_PROCESS_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace engram {

// HOST:PORT and a newline.
bool LooksLikePortFile(const std::string& text);
// A process id and a newline.
bool LooksLikePidFile(const std::string& text);

// A file of one line that is there from Write until this object ends or Remove: a reader finds all of it or nothing.
// What lies at the path is touched only where an earlier run left it, and nobody else's file is removed: a path may be
// mistyped. With an empty path nothing happens. Claim and Write are not thread-safe.
class AnnouncementFile {
 public:
  // `field` names the path in errors; `is_ours` tells whether an earlier run may have written such a text.
  AnnouncementFile(std::string field, std::string path, bool (*is_ours)(const std::string&));
  ~AnnouncementFile();
  AnnouncementFile(const AnnouncementFile&) = delete;
  AnnouncementFile& operator=(const AnnouncementFile&) = delete;

  // Removes what an earlier run left, so that nobody takes it for ours, and sees that the folder can be written.
  // FAILED_PRECONDITION naming field and path where something else lies there or the folder cannot be written.
  absl::Status Claim();
  // Writes beside it, then renames. FAILED_PRECONDITION as Claim.
  absl::Status Write(const std::string& text);
  // Removes what Write wrote, unless another process has replaced it. Any thread, after Write.
  void Remove() const;

 private:
  absl::Status Refuse(const std::string& why) const;

  const std::string field_;
  const std::string path_;
  bool (*const is_ours_)(const std::string&);
  std::string written_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_FILES_H_
