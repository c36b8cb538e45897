// Passes files through a fuzz target, for builds without libFuzzer: its corpus, or an input that made it fail.
//
// Usage: fuzz_NAME FILE_OR_FOLDER...

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::filesystem::path> FilesOf(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool Replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) return false;
  std::printf("replay: %s\n", path.c_str());
  std::fflush(stdout);  // a failing input is the last one named
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const std::filesystem::path& path : FilesOf(argv[i])) {
      if (!Replay(path)) {
        std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
        return 1;
      }
      ++inputs;
    }
  }
  std::printf("replay: %zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;  // replaying nothing proves nothing
}
