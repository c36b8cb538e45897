#include "client/tool/verify_streams.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/connection.h"
#include "client/tool/handovers.h"
#include "client/tool/session_board.h"
#include "client/tool/traffic.h"
#include "client/tool/verify_run.h"

namespace engram {
namespace {

constexpr uint64_t kBytesInFlightMax = uint64_t{1} << 30;  // of all streams
constexpr uint64_t kStreamBytesMax = uint64_t{256} << 20;
constexpr uint64_t kStepBytesMax = uint64_t{32} << 20;
constexpr size_t kUsualInFlight = 8;
constexpr uint64_t kSeedStep = 0x9E3779B97F4A7C15;  // the first stream and its first server keep the run's seed

// What the streams of a run have in common. Outlives them.
struct Run {
  const Oracle& oracle;
  const CheckpointSequences& sequences;
  const std::vector<ServerUnderTest>& servers;
  const StreamsOptions& options;
  const std::string name;                   // differs from run to run
  std::deque<SessionBoard> boards;          // one a server
  absl::Time end = absl::InfiniteFuture();  // set once all streams have connected
  std::atomic<bool> stop{false};

  bool shares() const { return options.streams > 1 || options.forks.has_value(); }
};

// Streams 0 and 2 of four share a client_id, 1 has its own, 3 is private.
std::string ClientIdOf(const Run& run, size_t stream) {
  if (!run.shares() || stream % 4 == 3) return "";
  return absl::StrCat(run.name, "-", stream / 4, stream % 4 == 1 ? "b" : "a");
}

std::unique_ptr<TokenSource> MakeSource(const Run& run) {
  const HashConstants& constants = run.oracle.constants();
  if (run.sequences.sparse) return std::make_unique<ScriptedTokens>(constants, run.sequences.sequences);
  return std::make_unique<RandomTokens>(constants, run.sequences.sequences);
}

// Connect, Work on any thread, then, once all streams have ended, Leave.
class VerifyStream {
 public:
  VerifyStream(Run& run, size_t number) : run_(run), number_(number), source_(MakeSource(run)) {}

  absl::Status Connect() {
    for (size_t server = 0; server < run_.servers.size(); ++server) {
      ConnectionOptions options;
      options.address = run_.servers[server].address;
      options.client_id = ClientIdOf(run_, number_);
      options.model_digest = run_.servers[server].model.model_digest();
      if (run_.options.shared_memory) options.shared_memory = {.bytes = SegmentBytes(), .required = true};
      absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Connect(options);
      if (!connection.ok()) return connection.status();
      connections_.push_back(*std::move(connection));
      traffics_.emplace_back(run_.oracle, *source_, handovers_, run_.shares() ? &run_.boards[server] : nullptr,
                             OptionsFor(server));
      comparers_.emplace_back(run_.oracle,
                              ComparerOptions{run_.servers[server].minus_zero_lost(), run_.sequences.sparse});
    }
    return absl::OkStatus();
  }

  void Work() {
    std::vector<Lane> lanes;
    for (size_t i = 0; i < connections_.size(); ++i) lanes.push_back({*connections_[i], traffics_[i], comparers_[i]});
    RandomRunOptions options;
    options.seed = Seed();
    if (run_.options.steps != 0) options.steps = Share(run_.options.steps);
    options.end = run_.end;
    options.in_flight = run_.options.in_flight;
    options.bytes_in_flight_max = BytesMax();
    options.cancel = run_.options.cancel;
    options.stop = &run_.stop;
    status_ = RunRandom(lanes, options);
    if (!status_.ok()) run_.stop = true;
  }

  // Closes what a later run should not find; how that ends does not matter.
  void Leave() {
    if (!run_.shares() || !status_.ok()) return;
    for (size_t i = 0; i < connections_.size(); ++i) {
      v1::StepRequest step;
      const uint32_t close_max = run_.servers[i].model.limits().segments_max();
      for (const uint64_t session_id : traffics_[i].OpenSessions()) {
        step.add_close_sessions(session_id);
        if (static_cast<uint32_t>(step.close_sessions_size()) != close_max) continue;
        connections_[i]->Run(std::exchange(step, v1::StepRequest()));
      }
      if (step.close_sessions_size() > 0) connections_[i]->Run(std::move(step));
    }
  }

  void AddTo(StreamsReport& report) const {
    const bool several = run_.options.streams > 1 || run_.servers.size() > 1;
    const std::string name = several ? absl::StrCat("stream ", number_, ": ") : "";
    if (report.status.ok() && !status_.ok()) {
      report.status = absl::Status(status_.code(), absl::StrCat(name, status_.message()));
    }
    for (size_t i = 0; i < comparers_.size(); ++i) {
      const std::string& mismatch = comparers_[i].first_mismatch();
      const std::string server = run_.servers.size() > 1 ? absl::StrCat(run_.servers[i].address, ": ") : "";
      if (report.first_mismatch.empty() && !mismatch.empty()) report.first_mismatch = name + server + mismatch;
      report.counts += comparers_[i].counts();
      report.traffic += traffics_[i].counts();
    }
  }

 private:
  uint64_t Seed() const { return run_.options.seed + kSeedStep * number_; }
  uint64_t Share(uint64_t steps) const {
    return steps / run_.options.streams + (number_ < steps % run_.options.streams ? 1 : 0);
  }
  // A part of what may be under way: the rest comes in messages, so that both ways are tried.
  uint64_t SegmentBytes() const { return BytesMax() / 4 / run_.servers.size(); }
  uint64_t BytesMax() const { return std::min(kStreamBytesMax, kBytesInFlightMax / run_.options.streams); }

  TrafficOptions OptionsFor(size_t server) const {
    TrafficOptions options;
    options.seed = Seed() + server;
    options.formats = run_.servers[server].formats;
    options.limits = run_.servers[server].model.limits();
    options.reply_bytes_max = std::min(kStepBytesMax, BytesMax() / run_.options.in_flight.value_or(kUsualInFlight));
    options.fork = run_.servers[server].can("fork");
    options.forks = run_.options.forks;
    options.speculative = run_.options.speculative;
    options.unique_rows = run_.options.unique_rows;
    options.client_id = ClientIdOf(run_, number_);
    options.session_ids_from = uint64_t{number_} << 32;
    options.server = server;
    options.servers = run_.servers.size();
    return options;
  }

  Run& run_;
  const size_t number_;
  std::unique_ptr<TokenSource> source_;
  Handovers handovers_;
  // One a server.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Traffic> traffics_;
  std::deque<Comparer> comparers_;
  absl::Status status_;
};

}  // namespace

absl::Status CheckCapabilities(const ServerUnderTest& server, const StreamsOptions& options) {
  if (options.forks.value_or(0) > 0 && !server.can("fork")) {
    return absl::FailedPreconditionError(absl::StrCat("--forks: ", server.address, " cannot fork"));
  }
  if (options.unique_rows && !server.can("unique_rows")) {
    return absl::FailedPreconditionError(absl::StrCat("--unique-rows: ", server.address, " always sends all rows"));
  }
  return absl::OkStatus();
}

StreamsReport RunStreams(const Oracle& oracle, const CheckpointSequences& sequences,
                         const std::vector<ServerUnderTest>& servers, const StreamsOptions& options) {
  Run run{oracle,
          sequences,
          servers,
          options,
          absl::StrFormat("engram-verify-%08x", std::random_device()()),
          std::deque<SessionBoard>(servers.size())};
  StreamsReport report;
  std::deque<VerifyStream> streams;
  for (size_t number = 0; number < options.streams; ++number) {
    report.status = streams.emplace_back(run, number).Connect();
    if (!report.status.ok()) return report;
  }
  run.end = absl::Now() + options.duration;
  std::vector<std::thread> threads;
  for (VerifyStream& stream : streams) threads.emplace_back(&VerifyStream::Work, &stream);
  for (std::thread& thread : threads) thread.join();
  for (VerifyStream& stream : streams) {
    stream.Leave();
    stream.AddTo(report);
  }
  if (report.status.ok() && report.counts.steps == 0) {
    report.status = absl::DeadlineExceededError(
        absl::StrCat("not one step was compared within --duration ", absl::FormatDuration(options.duration)));
  }
  return report;
}

}  // namespace engram
