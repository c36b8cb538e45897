#include "tests/gpu/bench/sections.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/gpu/device_memory.h"
#include "tests/gpu/rank_processes.h"

namespace engram::bench {
namespace {

// In a rank's process. What rank 0 found goes to `results`.
int RunRank(Collective& collective, const std::function<absl::Status(Collective&, Json&)>& body, std::FILE* results) {
  Json json;
  const absl::Status status = body(collective, json);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  if (collective.rank() != 0) return 0;
  const std::string text = json.dump();
  return std::fwrite(text.data(), 1, text.size(), results) == text.size() && std::fflush(results) == 0 ? 0 : 1;
}

absl::StatusOr<Json> Parse(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text.push_back(static_cast<char>(c));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InternalError("rank 0 left no result");
  return json;
}

// The second word group of the kernel module's own words, as "580.159.03"; empty where there is no such file.
std::string DriverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  return "";
}

std::string CudaVersion(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

}  // namespace

absl::StatusOr<Json> RunSection(int ranks, absl::Duration limit,
                                const std::function<absl::Status(Collective&, Json&)>& body) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> results(std::tmpfile(), std::fclose);
  if (results == nullptr) return absl::UnavailableError(absl::StrCat("tmpfile: ", std::strerror(errno)));
  ENGRAM_ASSIGN_OR_RETURN(
      const std::vector<RankExit> exits,
      RunRankProcesses(ranks, limit, [&](Collective& collective) { return RunRank(collective, body, results.get()); }));
  const std::string failures = FailuresOf(exits);
  if (!failures.empty()) return absl::InternalError(failures);
  return Parse(results.get());
}

absl::Status DescribeMachine(Json& json) {
  cudaDeviceProp properties;
  int driver = 0;
  int runtime = 0;
  int nccl = 0;
  ENGRAM_ASSIGN_OR_RETURN(const int devices, CountDevices());
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, 0));
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaDriverGetVersion(&driver));
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaRuntimeGetVersion(&runtime));
  ENGRAM_RETURN_IF_NCCL_ERROR(ncclGetVersion(&nccl));
  json = {{"card", properties.name},
          {"compute_capability", absl::StrCat(properties.major, ".", properties.minor)},
          {"multiprocessors", properties.multiProcessorCount},
          {"memory_bytes", properties.totalGlobalMem},
          {"cards", devices},
          {"driver", DriverVersion()},
          {"driver_cuda", CudaVersion(driver)},
          {"cuda", CudaVersion(runtime)},
          {"nccl", absl::StrCat(nccl / 10000, ".", nccl / 100 % 100, ".", nccl % 100)}};
  return absl::OkStatus();
}

}  // namespace engram::bench
