// A folder that lives as long as one test.

#ifndef ENGRAM_TESTS_UNIT_FILES_TEMP_FOLDER_H_
#define ENGRAM_TESTS_UNIT_FILES_TEMP_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace engram {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "engram_files_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  // Returns the path.
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream out(Path(name), std::ios::binary);
    out << bytes;
    out.close();
    EXPECT_TRUE(out) << Path(name);
    return Path(name);
  }

 private:
  std::string path_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_FILES_TEMP_FOLDER_H_
