#include "client/load/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "client/connection.h"
#include "client/load/scoreboard.h"
#include "client/load/stream_set.h"
#include "client/model_geometry.h"
#include "client/step_shape.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr absl::Duration kReachTimeout = absl::Seconds(10);
constexpr absl::Duration kStatusTimeout = absl::Seconds(2);
constexpr auto kTick = std::chrono::milliseconds(20);     // of the thread that watches
constexpr auto kLead = std::chrono::milliseconds(20);     // for all threads to be there when the run begins
constexpr auto kGiveUpAfter = std::chrono::seconds(2);    // what is under way, when the run was stopped
constexpr uint64_t kCheckBytesMax = uint64_t{256} << 20;  // of answers that wait to be checked

// Processor time of this program so far.
absl::Duration ProcessorTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
}

// Longer than a year is without end.
LoadTime TimeAfter(LoadTime begin, absl::Duration length) {
  return length > absl::Hours(24 * 365) ? LoadTime::max() : begin + absl::ToChronoNanoseconds(length);
}

// Null for a replay.
absl::StatusOr<std::unique_ptr<TokenPool>> MakePool(const LoadOptions& options, const Geometry& geometry) {
  if (options.profile == ProfileKind::kReplay) return nullptr;
  if (options.texts.empty()) return std::make_unique<ZipfTokens>(options.zipf, geometry.vocab_size);
  absl::StatusOr<TextTokens> texts = TextTokens::Create(options.texts, geometry.vocab_size);
  if (!texts.ok()) return Annotate(texts.status(), "--tokens-from");
  return std::make_unique<TextTokens>(*std::move(texts));
}

LoadShared ShareOf(const LoadOptions& options, const v1::Model& model, const Geometry& geometry) {
  const uint64_t rows = uint64_t{geometry.columns()} * geometry.layers();
  return {options, model, rows, rows * RowBytesOf(options.format, geometry), {}, {}, nullptr, nullptr};
}

// One run, once its streams are connected. Used by one thread.
class LoadRun {
 public:
  LoadRun(LoadShared& shared, StreamSet& streams)
      : shared_(shared),
        options_(shared.options),
        streams_(streams),
        begin_(LoadNow() + kLead),
        measured_from_(begin_ + absl::ToChronoNanoseconds(options_.warm_up)),
        scoreboard_(measured_from_),
        last_second_(begin_) {
    shared_.begin = begin_;
    shared_.end = TimeAfter(measured_from_, options_.duration);
    shared_.scoreboard = &scoreboard_;
    if (options_.check) {
      checks_ = std::make_unique<AnswerChecks>(options_.check, kCheckBytesMax, [this] { wrong_ = true; });
      shared_.checks = checks_.get();
    }
  }

  LoadReport Go() {
    streams_.Start();
    while (!streams_.over()) {
      std::this_thread::sleep_for(kTick);
      const LoadTime now = LoadNow();
      if (!measuring_ && now >= measured_from_) BeginMeasuring(now);
      if (!stopped_.has_value() && (wrong_ || (options_.stop != nullptr && *options_.stop))) Stop(now);
      if (now - last_second_ >= absl::ToChronoNanoseconds(options_.progress_every)) TakeSecond(now);
    }
    streams_.Join();
    const LoadTime over = LoadNow();
    TakeSecond(over);
    return MakeReport(over);
  }

 private:
  void BeginMeasuring(LoadTime now) {
    measuring_ = true;
    processor_ = ProcessorTime();
    processor_since_ = now;
    status_ = FetchServerStatus(options_.server, kStatusTimeout);
    status_since_ = LoadNow();
  }

  void Stop(LoadTime now) {
    stopped_ = now;
    streams_.Stop(now + kGiveUpAfter);
  }

  void TakeSecond(LoadTime now) {
    RunProgress progress;
    progress.elapsed = absl::FromChrono(now - begin_);
    progress.warm_up = now < measured_from_;
    progress.second = scoreboard_.TakeInterval();
    progress.length = absl::FromChrono(now - last_second_);
    progress.in_flight = streams_.in_flight();
    progress.due = streams_.due();
    timeline_.Add(absl::FromChrono(last_second_ - begin_), progress.elapsed, progress.second, progress.due);
    last_second_ = now;
    if (options_.progress && 2 * progress.length >= options_.progress_every) options_.progress(progress);
  }

  // When the last step started, or could have.
  LoadTime LastStart(LoadTime over) const { return std::min({over, shared_.end, stopped_.value_or(over)}); }

  std::string Ended(LoadTime over) const {
    if (wrong_) return "wrong bytes";
    if (stopped_.has_value()) return "interrupted";
    return over < shared_.end ? "end of the replay" : "duration";
  }

  std::optional<StageTimes> TakeStages() {
    const absl::StatusOr<v1::ServerStatus> after = FetchServerStatus(options_.server, kStatusTimeout);
    if (!status_.ok() || !after.ok()) return std::nullopt;
    return StagesBetween(*status_, *after, absl::FromChrono(LoadNow() - status_since_));
  }

  LoadReport MakeReport(LoadTime over) {
    LoadReport report;
    report.server = options_.server;
    report.model = shared_.model;
    report.settings = SettingsOf(options_);
    report.warm_up = options_.warm_up;
    report.open_loop = options_.open_loop();
    report.shared_memory = options_.shared_memory;
    report.total = scoreboard_.Total();
    report.timeline = std::move(timeline_);
    const LoadTime until = std::max(LastStart(over), report.total.last_finished);
    report.measured = std::max(absl::ZeroDuration(), absl::FromChrono(until - measured_from_));
    report.starts_left = streams_.due();
    if (report.starts_left > 0) report.oldest_left = absl::FromChrono(LastStart(over) - streams_.oldest_due());
    report.reconnections = streams_.reconnections();
    if (measuring_) {
      report.client_cores = absl::FDivDuration(ProcessorTime() - processor_, absl::FromChrono(over - processor_since_));
      report.stages = TakeStages();
    }
    if (checks_ != nullptr) report.checked = checks_->Finish();
    report.ended = Ended(over);
    report.slo = JudgeSlo(options_.slo, report);
    return report;
  }

  LoadShared& shared_;
  const LoadOptions& options_;
  StreamSet& streams_;
  const LoadTime begin_;
  const LoadTime measured_from_;
  Scoreboard scoreboard_;
  Timeline timeline_{kTimelinePointsMax};
  LoadTime last_second_;
  std::optional<LoadTime> stopped_;
  std::atomic<bool> wrong_{false};
  bool measuring_ = false;
  absl::Duration processor_;
  LoadTime processor_since_;
  absl::StatusOr<v1::ServerStatus> status_ = absl::UnavailableError("not asked");
  LoadTime status_since_;
  std::unique_ptr<AnswerChecks> checks_;  // reaches wrong_ until it is destroyed
};

}  // namespace

absl::StatusOr<LoadReport> RunLoad(LoadOptions options) {
  ENGRAM_ASSIGN_OR_RETURN(const v1::Model model, FetchModel(options.server, kReachTimeout));
  ENGRAM_ASSIGN_OR_RETURN(const Geometry geometry, GeometryOf(model));
  ENGRAM_RETURN_IF_ERROR(CompleteOptions(model, geometry, options));
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<TokenPool> pool, MakePool(options, geometry));
  LoadShared shared = ShareOf(options, model, geometry);
  StreamSet streams(shared, pool.get(), geometry.max_ngram_size - 1);
  ENGRAM_RETURN_IF_ERROR(streams.Connect());
  return LoadRun(shared, streams).Go();
}

}  // namespace engram
