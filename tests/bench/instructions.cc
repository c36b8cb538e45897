// instructions NAME: runs one counted path, once uncounted and once inside EngramCounted, which callgrind is told to
// collect. Without NAME it prints what it was built as and the paths with their units of work, as JSON.

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "counted_paths.h"

// Callgrind's --toggle-collect finds it by this name.
extern "C" __attribute__((noinline)) void EngramCounted(engram::CountedPath& path) {
  path.Run();
  asm volatile("" ::: "memory");  // no tail call: the function must be left again
}

namespace engram {
namespace {

using Maker = std::function<std::unique_ptr<CountedPath>()>;

const std::map<std::string, Maker>& Paths() {
  static const auto* const kPaths = new std::map<std::string, Maker>{
      {"hash_token", MakeHashPath}, {"packed_row", MakePackedGatherPath}, {"bf16_row", MakeBf16GatherPath},
      {"plan_row", MakePlanPath},   {"unique_row", MakeUniquePath},       {"step_of_one_token", MakeStepPath}};
  return *kPaths;
}

// Which instructions the paths choose at run time.
const char* Vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") ? "x86_64 with avx2" : "x86_64 without avx2";
#else
  return "another architecture";
#endif
}

void Describe() {
  nlohmann::json paths;
  for (const auto& [name, make] : Paths()) paths[name] = make()->units();
  std::cout << nlohmann::json{{"build", std::string(ENGRAM_BENCH_COMPILER) + ", " + Vectors()}, {"paths", paths}}.dump()
            << std::endl;
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  if (argc == 1) {
    engram::Describe();
    return 0;
  }
  const auto found = engram::Paths().find(argv[1]);
  if (found == engram::Paths().end()) {
    std::fprintf(stderr, "instructions: there is no path %s\n", argv[1]);
    return 2;
  }
  const std::unique_ptr<engram::CountedPath> path = found->second();
  path->Run();
  EngramCounted(*path);
  return 0;
}
