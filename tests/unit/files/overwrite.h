// A write that hides.

#ifndef ENGRAM_TESTS_UNIT_FILES_OVERWRITE_H_
#define ENGRAM_TESTS_UNIT_FILES_OVERWRITE_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace engram {

// Overwrites the first bytes of a file and sets its modification time back, until its time of change has moved: the
// clock of a file system ticks in milliseconds.
inline void OverwriteKeepingTime(const std::string& path, const std::string& bytes) {
  struct stat before;
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  struct stat after = before;
  while (after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
    const struct timespec times[] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    ASSERT_EQ(::stat(path.c_str(), &after), 0);
  }
  ASSERT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_FILES_OVERWRITE_H_
