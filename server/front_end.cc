#include "server/front_end.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/config.h"
#include "server/describe_model.h"
#include "server/engine_loop.h"
#include "server/host_port.h"
#include "server/process_exit.h"
#include "server/process_load.h"
#include "server/process_signals.h"
#include "server/self_check.h"

namespace engram {
namespace {

// What is left on the way to clients when everything is answered.
constexpr absl::Duration kFlush = absl::Seconds(1);
constexpr const char* kDraining = "draining: the server is about to stop";

SchedulerOptions SchedulerOptionsOf(const v1::ServerConfig& config, const v1::Model& model) {
  SchedulerOptions options;
  options.frames.frame_bytes_max = config.streams().frame_bytes_max();
  options.frames.round_bytes_max = config.scheduling().round_bytes_max();
  options.unsent_bytes_max = config.streams().unsent_bytes_max();
  options.decode_tokens_max = config.scheduling().decode_tokens_max();
  options.table_version = model.table_version();
  return options;
}

}  // namespace

FrontEnd::FrontEnd(Job& job, const v1::ServerConfig& config, const Checkpoint& checkpoint)
    : job_(job),
      config_(config),
      checkpoint_(checkpoint),
      options_(EngineOptionsOf(config, checkpoint.geometry)),
      model_(DescribeModel(checkpoint, config, job.ranks())),
      sessions_(SessionLimitsOf(config), checkpoint.geometry.max_ngram_size - 1),
      admission_(checkpoint.geometry, checkpoint.constants, model_, sessions_),
      gate_(config.scheduling().queue_steps_max(), absl::UnavailableError("loading 0%")),
      scheduler_(checkpoint.geometry, checkpoint.constants, SchedulerOptionsOf(config, model_)),
      port_file_(config.listen().port_file()),
      pid_file_(config.listen().pid_file()) {}

absl::Status FrontEnd::Run() {
  spdlog::info("configuration:\n{}", PrintConfig(config_));
  for (const std::string& line : DescribeForLog(model_, config_)) spdlog::info("{}", line);
  if (absl::Status status = Listen(); !status.ok()) return status;
  StopWatcher watcher([this](int signal) { OnStopSignal(signal); });
  absl::StatusOr<std::unique_ptr<Engine>> engine = Load();
  if (!engine.ok()) return engine.status();
  if (absl::Status status = Announce(); !status.ok()) return status;
  const absl::Status status = RunEngineLoop(scheduler_, **engine, options_.heartbeat, stop_);
  LogCounters();
  if (!status.ok()) {
    TellLoss(status);
    job_.Abort(ExitCodeOf(status));
  }
  grpc_->Shutdown(kFlush);
  return (*engine)->Stop();
}

absl::Status FrontEnd::Listen() {
  const ServiceContext context{model_, admission_, sessions_, gate_, scheduler_, config_.streams().streams_max()};
  absl::StatusOr<std::unique_ptr<GrpcServer>> started = GrpcServer::Start(config_.listen().address(), context);
  // Not a lost rank: another process has the port, or the address is not ours.
  if (!started.ok()) return absl::InternalError(started.status().message());
  grpc_ = *std::move(started);
  return pid_file_.Write(absl::StrCat(getpid(), "\n"));
}

absl::StatusOr<std::unique_ptr<Engine>> FrontEnd::Load() {
  LoadLog log;
  EngineOptions options = options_;
  options.progress = [this, &log](const LoadProgress& progress) {
    gate_.Close(absl::UnavailableError(absl::StrCat("loading ", log.Note(progress), "%")));
  };
  const absl::Time start = absl::Now();
  absl::StatusOr<std::unique_ptr<Engine>> engine = job_.Start(checkpoint_, options);
  if (!engine.ok()) return engine.status();
  const absl::StatusOr<uint64_t> compared =
      SelfCheck(**engine, checkpoint_, options_, static_cast<size_t>(job_.ranks()));
  if (!compared.ok()) return compared.status();
  spdlog::info("loaded and checked {} rows against the files in {}", *compared,
               absl::FormatDuration(absl::Trunc(absl::Now() - start, absl::Milliseconds(1))));
  return engine;
}

absl::Status FrontEnd::Announce() {
  HostPort address = *ParseHostPort(config_.listen().address());
  address.port = static_cast<uint16_t>(grpc_->port());
  {
    MutexLock lock(mu_);
    serving_ = true;
    gate_.Open();
    grpc_->SetServing(true);
  }
  spdlog::info("SERVING on {}", address.ToString());
  return port_file_.Write(absl::StrCat(address.ToString(), "\n"));
}

void FrontEnd::OnStopSignal(int signal) {
  bool serving = false;
  {
    MutexLock lock(mu_);
    serving = serving_;
    gate_.Close(absl::UnavailableError(kDraining));
  }
  spdlog::info("{}: {}", strsignal(signal), serving ? "draining" : "stopping while loading");
  if (!serving) job_.Abort(kExitClean);
  Drain();
}

void FrontEnd::Drain() {
  const absl::Duration timeout = absl::Milliseconds(config_.scheduling().drain_timeout_ms());
  const absl::Time end = absl::Now() + timeout;
  grpc_->Drain(kDraining, timeout);
  // Lookups have no stream to wait for.
  while (gate_.steps() > 0 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(2));
  if (gate_.steps() > 0) {
    spdlog::warn("drain_timeout_ms = {} passed with {} steps unanswered", config_.scheduling().drain_timeout_ms(),
                 gate_.steps());
    scheduler_.FailAll(absl::UnavailableError("draining: drain_timeout_ms passed before the step was answered"));
    grpc_->Drain(kDraining, kFlush);
  }
  stop_ = true;
  scheduler_.Wake();
}

void FrontEnd::TellLoss(const absl::Status& lost) {
  spdlog::error("the job ends: {}", lost.ToString());
  gate_.Close(absl::UnavailableError(lost.message()));
  grpc_->Drain(std::string(lost.message()), kFlush);
}

void FrontEnd::LogCounters() const {
  const SchedulerCounters& counters = scheduler_.counters();
  spdlog::info("{} steps, {} frames, {} rows, {} payload bytes in {} rounds; hashing {}, gathering {}, delivering {}",
               counters.steps, counters.frames, counters.rows, counters.payload_bytes, counters.rounds,
               absl::FormatDuration(counters.hash_time), absl::FormatDuration(counters.gather_time),
               absl::FormatDuration(counters.deliver_time));
}

}  // namespace engram
