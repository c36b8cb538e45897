// Ranks that die, freeze or idle: run under mpirun by fault.sh, which checks the exit code.
//
// Usage: mpirun -np N mpi_fault SCENARIO CHECKPOINT CONSTANTS
//   killed        rank 1 is killed between rounds
//   frozen        rank 1 freezes: the front end must say so within round_timeout and end the job with exit code 75
//   frozen_front  rank 0 freezes: the others must notice and end the job with exit code 75
//   idle, idle_polling   heartbeats only: every rank but the front end prints what it burns, and fails at 5 % of a core

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "model/files/checkpoint.h"
#include "shard/engine.h"
#include "shard/mpi_job.h"

namespace engram {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRankLost = 75;
constexpr std::chrono::seconds kIdleTime{4};
constexpr double kIdleShareMax = 0.05;

EngineOptions Options() {
  EngineOptions options;
  options.round_timeout = absl::Seconds(2);
  options.heartbeat = absl::Seconds(1);
  return options;
}

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  _exit(3);
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Half a second from now, when the rank is serving.
void SignalMyselfSoon(int signal) {
  std::thread([signal] {
    absl::SleepFor(absl::Milliseconds(500));
    kill(getpid(), signal);
  }).detach();
}

void WatchIdleness(int rank) {
  std::thread([rank] {
    absl::SleepFor(absl::Seconds(1));
    const double begin = CpuSeconds();
    std::this_thread::sleep_for(kIdleTime);
    const double share = (CpuSeconds() - begin) / static_cast<double>(kIdleTime.count());
    std::printf("rank %d: %.2f %% of a core\n", rank, 100 * share);
    std::fflush(stdout);
    if (share >= kIdleShareMax) Fail("an idle rank burns too much");
  }).detach();
}

// Heartbeats every `pace` for `how_long`, and how long they took.
absl::Status Beat(Engine& engine, std::chrono::milliseconds pace, std::chrono::seconds how_long) {
  std::vector<double> micros;
  const auto end = Clock::now() + how_long;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(pace);
    const auto begin = Clock::now();
    const absl::Status status = engine.Heartbeat();
    if (!status.ok()) return status;
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(micros.begin(), micros.end());
  std::printf("a heartbeat every %d ms took p50 %.0f us, p99 %.0f us\n", static_cast<int>(pace.count()),
              micros[micros.size() / 2], micros[micros.size() * 99 / 100]);
  std::fflush(stdout);
  return absl::OkStatus();
}

[[noreturn]] void Lost(Job& job, const absl::Status& status) {
  std::fprintf(stderr, "rank %d: %s\n", job.rank(), status.ToString().c_str());
  if (!absl::IsUnavailable(status)) Fail("expected UNAVAILABLE");
  job.Abort(kRankLost);
  Fail("Abort returned");
}

int RunFront(Job& job, const Checkpoint& checkpoint, const std::string& scenario) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = job.Start(checkpoint, Options());
  if (!engine.ok()) Fail(engine.status().ToString());
  if (scenario == "frozen_front") SignalMyselfSoon(SIGSTOP);
  const bool idle = scenario.rfind("idle", 0) == 0;
  absl::Status status = Beat(**engine, std::chrono::milliseconds(idle ? 1000 : 100), std::chrono::seconds(6));
  if (!idle) {
    if (status.ok()) Fail("rank 1 is gone and nobody noticed");
    Lost(job, status);
  }
  if (status.ok()) status = Beat(**engine, std::chrono::milliseconds(25), std::chrono::seconds(3));
  if (status.ok()) status = (*engine)->Stop();
  if (!status.ok()) Fail(status.ToString());
  return 0;
}

int RunOther(Job& job, const Checkpoint& checkpoint, const std::string& scenario) {
  if (scenario == "killed" && job.rank() == 1) SignalMyselfSoon(SIGKILL);
  if (scenario == "frozen" && job.rank() == 1) SignalMyselfSoon(SIGSTOP);
  if (scenario.rfind("idle", 0) == 0) WatchIdleness(job.rank());
  const absl::Status status = job.Serve(checkpoint, Options());
  if (!status.ok()) Lost(job, status);
  return 0;
}

int Main(const std::string& scenario, const std::string& checkpoint_path, const std::string& constants_path) {
  const absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(checkpoint_path, constants_path);
  if (!checkpoint.ok()) Fail(checkpoint.status().ToString());
  MpiOptions options;
  options.share_memory = scenario != "idle_polling";
  absl::StatusOr<std::unique_ptr<Job>> job = MpiJob::Join(options);
  if (!job.ok()) Fail(job.status().ToString());
  return (*job)->is_front() ? RunFront(**job, *checkpoint, scenario) : RunOther(**job, *checkpoint, scenario);
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return engram::Main(argv[1], argv[2], argv[3]);
}
