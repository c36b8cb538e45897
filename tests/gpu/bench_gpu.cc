// bench_gpu: what the GPUs of this machine do for a look-up, in figures that docs/gpu.md defines. --help says how.

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/files/errors.h"
#include "shard/gpu/cuda_backend.h"
#include "tests/gpu/bench/device_bench.h"
#include "tests/gpu/bench/engine_bench.h"
#include "tests/gpu/bench/engine_files.h"
#include "tests/gpu/bench/options.h"
#include "tests/gpu/bench/report.h"
#include "tests/gpu/bench/sections.h"
#include "tests/gpu/card_processes.h"

namespace engram::bench {
namespace {

constexpr absl::Duration kMachineMax = absl::Minutes(2);
constexpr absl::Duration kDeviceMax = absl::Minutes(5);
constexpr absl::Duration kEngineMax = absl::Minutes(3);

enum ExitCode { kDone = 0, kFailed = 1, kWrongCommand = 2, kNoGpu = 77 };

absl::StatusOr<Json> Machine() {
  return RunSection(1, kMachineMax, [](Collective&, Json& json) { return DescribeMachine(json); });
}

class Bench {
 public:
  Bench(const BenchOptions& options, int devices) : options_(options), devices_(devices) {}

  // Goes on where a part failed: the others' figures are good.
  void Run() {
    const absl::StatusOr<Json> machine = Machine();
    if (!machine.ok()) return Fail("machine", machine.status());
    machine_ = *machine;
    std::cerr << "machine: " << machine_.dump() << "\n";
    RunPart("device", 1, kDeviceMax,
            [this](Collective&, BenchReport& report) { return BenchDevice(options_, report); });
    const absl::StatusOr<std::unique_ptr<EngineFiles>> files =
        EngineFiles::Write(options_.folder, options_.engine_bytes);
    if (!files.ok()) return Fail("engine files", files.status());
    RunEngine((*files)->checkpoint(), 1);
    RunEngine((*files)->checkpoint(), options_.ranks > 0 ? options_.ranks : std::max(devices_, 2));
  }

  bool failed() const { return !errors_.empty(); }

  Json Document() const {
    Json document = {{"benchmark", "bench_gpu"},
                     {"date", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone())},
                     {"commit", options_.commit},
                     {"quick", options_.quick},
                     {"seed", options_.seed}};
    document.update(machine_);
    document["errors"] = errors_;
    document["results"] = report_.json();
    return document;
  }

 private:
  void Fail(const std::string& part, const absl::Status& status) {
    errors_.push_back(part + ": " + std::string(status.message()));
    std::cerr << "FAILED: " << part << ": " << status.message() << "\n";
  }

  void RunPart(const std::string& part, int ranks, absl::Duration limit,
               const std::function<absl::Status(Collective&, BenchReport&)>& body) {
    const absl::StatusOr<Json> rows = RunSection(ranks, limit, [&](Collective& collective, Json& json) {
      BenchReport report;
      ENGRAM_RETURN_IF_ERROR(body(collective, report));
      json = report.json();
      return absl::OkStatus();
    });
    if (!rows.ok()) return Fail(part, rows.status());
    BenchReport found;
    found.Append(*rows);
    std::cerr << "\n" << part << "\n" << found.Table();
    report_.Append(*rows);
  }

  // What a quick run leaves out: the host's memory, and modes where one rank has nothing to combine.
  std::vector<EngineCase> CasesOf(int ranks) const {
    std::vector<EngineCase> cases;
    for (const CombineMode mode :
         {CombineMode::kAllReduceBf16, CombineMode::kAllReducePacked, CombineMode::kOwnerGather}) {
      if (options_.quick && ranks == 1 && mode != CombineMode::kOwnerGather) continue;
      cases.push_back({mode, Placement::kDevice});
      if (!options_.quick) cases.push_back({mode, Placement::kHostPinned});
    }
    return cases;
  }

  void RunEngine(const Checkpoint& checkpoint, int ranks) {
    const EngineSetting setting = {options_, checkpoint, &CudaBackend(), std::min(ranks, devices_)};
    for (const EngineCase& what : CasesOf(ranks)) {
      const std::string part = absl::StrCat("engine, ", ranks, " ranks on ", setting.cards, " cards, ",
                                            std::string(NameOf(what.mode)), ", ", std::string(NameOf(what.placement)));
      RunPart(part, ranks, kEngineMax, [&](Collective& collective, BenchReport& report) {
        ENGRAM_RETURN_IF_ERROR(ChooseDevice(collective.rank(), ranks).status());
        return BenchEngine(collective, setting, {what}, report);
      });
    }
  }

  const BenchOptions& options_;
  const int devices_;
  Json machine_ = Json::object();
  Json errors_ = Json::array();
  BenchReport report_;
};

int Write(const Json& document, const std::string& path) {
  if (path.empty()) {
    std::cout << document.dump(2) << std::endl;
    return std::cout ? kDone : kFailed;
  }
  std::ofstream file(path);
  file << document.dump(2) << std::endl;
  if (file) return kDone;
  std::cerr << "bench_gpu: cannot write " << path << "\n";
  return kFailed;
}

int PrintMachine() {
  const absl::StatusOr<Json> machine = Machine();
  if (!machine.ok()) {
    std::cerr << "bench_gpu: " << machine.status().message() << "\n";
    return kFailed;
  }
  std::cout << machine->dump(2) << std::endl;
  return kDone;
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<BenchOptions> options = ParseBenchOptions(arguments);
  if (!options.ok()) {
    std::cerr << "bench_gpu: " << options.status().message() << "\n" << BenchUsage();
    return kWrongCommand;
  }
  if (options->help) {
    std::cout << BenchUsage();
    return kDone;
  }
  const absl::StatusOr<int> devices = CountDevicesElsewhere();
  if (!devices.ok()) {
    std::cerr << "bench_gpu: no GPU: " << devices.status().message() << "\n";
    return kNoGpu;
  }
  if (options->machine) return PrintMachine();
  Bench bench(*options, *devices);
  bench.Run();
  const int written = Write(bench.Document(), options->json_path);
  return bench.failed() ? kFailed : written;
}

}  // namespace
}  // namespace engram::bench

int main(int argc, char** argv) { return engram::bench::Main({argv + 1, argv + argc}); }
