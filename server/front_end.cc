#include "server/front_end.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/files/errors.h"
#include "server/config.h"
#include "server/describe_model.h"
#include "server/engine_loop.h"
#include "server/host_port.h"
#include "server/process_exit.h"
#include "server/process_limits.h"
#include "server/process_load.h"
#include "server/process_signals.h"
#include "server/reply_memory.h"
#include "server/self_check.h"

namespace engram {
namespace {

// What is left on the way to clients when everything is answered.
constexpr absl::Duration kFlush = absl::Seconds(1);
constexpr const char* kDraining = "draining: the server is about to stop";

// Connections that may be open besides those with streams, and files of our own.
constexpr uint64_t kOtherFiles = 256;

void CheckOpenFiles(uint64_t streams_max) {
  const uint64_t files = RaiseOpenFilesLimit();
  if (files >= streams_max + kOtherFiles) return;
  spdlog::warn("{} files may be open (ulimit -Hn): too few for streams.streams_max = {} connections and {} more", files,
               streams_max, kOtherFiles);
}

// Every failed step is somebody's, but a damaged table fails thousands a second: a line a second is enough.
class FailureLog {
 public:
  void operator()(const absl::Status& status) {
    ++failed_;
    if (absl::Now() < next_) return;
    spdlog::warn("{} failed: {}", failed_ == 1 ? "a step" : absl::StrCat(failed_, " steps"), status.ToString());
    failed_ = 0;
    next_ = absl::Now() + absl::Seconds(1);
  }

 private:
  uint64_t failed_ = 0;
  absl::Time next_ = absl::InfinitePast();
};

SchedulerOptions SchedulerOptionsOf(const v1::ServerConfig& config, const v1::Model& model,
                                    std::function<void(const absl::Status&)> on_step_failure) {
  SchedulerOptions options;
  options.on_step_failure = std::move(on_step_failure);
  options.frames.frame_bytes_max = config.streams().frame_bytes_max();
  options.frames.round_bytes_max = config.scheduling().round_bytes_max();
  options.unsent_bytes_max = config.streams().unsent_bytes_max();
  options.decode_tokens_max = config.scheduling().decode_tokens_max();
  options.table_version = model.table_version();
  options.sender_thread = true;
  return options;
}

}  // namespace

FrontEnd::FrontEnd(Job& job, const v1::ServerConfig& config, const Checkpoint& checkpoint, EngineOptions options)
    : job_(job),
      config_(config),
      checkpoint_(checkpoint),
      options_(std::move(options)),
      model_(DescribeModel(checkpoint, config, job.ranks())),
      sessions_(SessionLimitsOf(config), checkpoint.geometry.max_ngram_size - 1),
      admission_(checkpoint.geometry, checkpoint.constants, model_, sessions_),
      gate_(config.scheduling().queue_steps_max(), absl::UnavailableError("loading 0%")),
      scheduler_(checkpoint.geometry, checkpoint.constants,
                 SchedulerOptionsOf(config, model_,
                                    [this, log = FailureLog()](const absl::Status& status) mutable {
                                      log(status);
                                      OnStepFailure(status);
                                    })),
      port_file_("listen.port_file", config.listen().port_file(), LooksLikePortFile),
      pid_file_("listen.pid_file", config.listen().pid_file(), LooksLikePidFile) {}

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
    TellLoss(status, **engine);
    RemoveFiles();
    job_.Abort(ExitCodeOf(status));
  }
  const absl::Status stopped = (*engine)->Stop();
  if (stopped.ok()) spdlog::info("stopped");
  return stopped;
}

void FrontEnd::OnStepFailure(const absl::Status& status) {
  if (!absl::IsDataLoss(status) || std::exchange(damaged_, true)) return;
  spdlog::error("a table is not what it was: health says NOT_SERVING until the server is started anew");
  grpc_->SetServing(false);
}

absl::Status FrontEnd::Listen() {
  CheckOpenFiles(config_.streams().streams_max());
  const ServiceContext context{model_,
                               admission_,
                               sessions_,
                               gate_,
                               scheduler_,
                               config_.streams().streams_max(),
                               absl::Milliseconds(config_.streams().hello_timeout_ms()),
                               SegmentRulesOf(config_)};
  absl::StatusOr<std::unique_ptr<GrpcServer>> started = GrpcServer::Start(config_.listen().address(), context);
  // Neither a lost rank nor for ever: another process has the port, or the address is not ours.
  if (!started.ok()) return absl::AlreadyExistsError(started.status().message());
  grpc_ = *std::move(started);
  // Only now: where another server has the address, the files are its own.
  for (AnnouncementFile* file : {&port_file_, &pid_file_}) {
    if (absl::Status status = file->Claim(); !status.ok()) return status;
  }
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
  ENGRAM_ASSIGN_OR_RETURN(ReplyMemory replies, MakeReplyMemory(**engine, options_));
  if (!replies.bytes.empty()) scheduler_.AddReplyMemory(std::move(replies));
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
  if (!serving) {
    RemoveFiles();
    job_.Abort(kExitClean);
  }
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
  // The engine loop goes on meanwhile, so that the ranks hear its heartbeats.
  grpc_->Shutdown(kFlush);
  stop_ = true;
  scheduler_.Wake();
}

void FrontEnd::RemoveFiles() {
  port_file_.Remove();
  pid_file_.Remove();
}

void FrontEnd::TellLoss(const absl::Status& lost, Engine& engine) {
  spdlog::error("the job ends: {}", lost.ToString());
  gate_.Close(absl::UnavailableError(lost.message()));
  TellLateSteps(scheduler_, engine, gate_, lost, kFlush);
  grpc_->Drain(std::string(lost.message()), kFlush);
}

void FrontEnd::LogCounters() {
  const RoundCounters counters = scheduler_.counters();
  const StageCounters& stages = scheduler_.stages();
  const auto time = [](uint64_t ns) { return absl::FormatDuration(absl::Nanoseconds(ns)); };
  spdlog::info("{} steps, {} frames, {} rows, {} payload bytes in {} rounds; hashing {}, gathering {}, delivering {}",
               counters.steps, counters.frames, counters.rows, counters.payload_bytes, stages.rounds(),
               time(stages.hash_ns()), time(stages.gather_ns()), time(stages.deliver_ns()));
}

}  // namespace engram
