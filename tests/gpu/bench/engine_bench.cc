#include "tests/gpu/bench/engine_bench.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/anonymous_memory.h"
#include "shard/front_engine.h"
#include "shard/load_meter.h"
#include "shard/loaded_rank.h"
#include "shard/shard.h"
#include "shard/worker.h"
#include "tests/gpu/bench/content.h"
#include "tests/gpu/bench/round_source.h"

namespace engram::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRoundsLeast = 5;
constexpr size_t kRoundsMost = 5000;
constexpr int kPasses = 3;  // of the rate

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Whether a figure of so many rounds has had its time.
bool IsEnough(const BenchOptions& options, size_t rounds, Clock::time_point begin) {
  return rounds >= kRoundsMost ||
         (rounds >= kRoundsLeast && SecondsSince(begin) >= absl::ToDoubleSeconds(options.engine_time));
}

// One round after the other: seconds of each.
absl::StatusOr<std::vector<double>> TimeRounds(const BenchOptions& options, Engine& engine, RoundSource& source) {
  std::vector<double> seconds;
  for (const Clock::time_point begin = Clock::now(); !IsEnough(options, seconds.size(), begin);) {
    const absl::Span<const RowBlock> blocks = source.Next();
    const Clock::time_point asked = Clock::now();
    ENGRAM_RETURN_IF_ERROR(engine.Gather(blocks));
    seconds.push_back(SecondsSince(asked));
  }
  return seconds;
}

// As many at once as the engine takes: rounds a second.
absl::StatusOr<double> RateOfRounds(const BenchOptions& options, Engine& engine, RoundSource& source) {
  const Clock::time_point begin = Clock::now();
  size_t finished = 0;
  int begun = 0;
  while (!IsEnough(options, finished, begin)) {
    for (; begun < engine.rounds_in_flight_max(); ++begun) ENGRAM_RETURN_IF_ERROR(engine.Begin(source.Next()));
    ENGRAM_RETURN_IF_ERROR(engine.Finish());
    --begun;
    ++finished;
  }
  for (; begun > 0; --begun, ++finished) ENGRAM_RETURN_IF_ERROR(engine.Finish());
  return static_cast<double>(finished) / SecondsSince(begin);
}

class EngineBench {
 public:
  EngineBench(const EngineSetting& setting, const EngineCase& what, int ranks, BenchReport& report)
      : setting_(setting), case_(what), ranks_(ranks), report_(report) {}

  // Rank 0's part, from the first round to the last.
  absl::Status Run(Engine& engine) {
    const BenchOptions& options = setting_.options;
    const uint64_t tokens_max = options.round_rows_max() / kRowsOfAToken;
    ENGRAM_ASSIGN_OR_RETURN(const AnonymousMemory memory,
                            AnonymousMemory::Allocate(
                                RoundSource::MemoryBytes(form_, tokens_max, engine.rounds_in_flight_max()), "replies"));
    const absl::Span<std::byte> bytes(memory.data(), memory.size());
    ENGRAM_RETURN_IF_ERROR(engine.PinReplyMemory(bytes));
    for (const uint64_t tokens : options.tokens) {
      RoundSource source(setting_.checkpoint.geometry, form_, tokens, engine.rounds_in_flight_max(), options.seed,
                         bytes);
      ENGRAM_RETURN_IF_ERROR(Measure(engine, source, tokens));
    }
    return engine.Stop();
  }

 private:
  absl::Status Measure(Engine& engine, RoundSource& source, uint64_t tokens) {
    const BenchOptions& options = setting_.options;
    source.Poison();
    for (int warm_up = 0; warm_up < 3; ++warm_up) ENGRAM_RETURN_IF_ERROR(engine.Gather(source.Next()));
    ENGRAM_ASSIGN_OR_RETURN(uint64_t checked, Check(source));
    ENGRAM_ASSIGN_OR_RETURN(std::vector<double> seconds, TimeRounds(options, engine, source));
    for (double& value : seconds) value *= 1e6;
    report_.Add("round_time", Parameters(tokens), "us", SamplesOf(seconds), checked);
    source.Poison();
    std::vector<double> rates;
    for (int pass = 0; pass < kPasses; ++pass) {
      ENGRAM_ASSIGN_OR_RETURN(const double rate, RateOfRounds(options, engine, source));
      rates.push_back(rate);
    }
    ENGRAM_ASSIGN_OR_RETURN(checked, Check(source));
    const Samples samples = SamplesOf(rates);
    report_.Add("rounds", Parameters(tokens), "rounds/s", samples, checked);
    const double row_bytes = RowBytesOf(form_);
    report_.AddRatio("reply_gb_s", samples.median * static_cast<double>(source.rows_of_a_round()) * row_bytes / 1e9);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Check(const RoundSource& source) const {
    const bool summed = case_.mode == CombineMode::kAllReduceBf16 && ranks_ > 1;
    return source.Check(/*negative_zeros=*/!summed);
  }

  Json Parameters(uint64_t tokens) const {
    return {{"mode", std::string(NameOf(case_.mode))},
            {"placement", std::string(NameOf(case_.placement))},
            {"form", form_ == RowForm::kPacked ? "PACKED" : "BF16"},
            {"ranks", ranks_},
            {"cards", setting_.cards},
            {"tokens", tokens}};
  }

  const EngineSetting& setting_;
  const EngineCase case_;
  const int ranks_;
  BenchReport& report_;
  const RowForm form_ = Serves(case_.mode, RowForm::kPacked) ? RowForm::kPacked : RowForm::kBf16;
};

EngineOptions OptionsOf(const EngineSetting& setting, const EngineCase& what) {
  EngineOptions options;
  options.combine = what.mode;
  options.placement = what.placement;
  options.gpu = setting.gpu;
  options.round_rows_max = setting.options.round_rows_max();
  options.round_timeout = absl::Minutes(1);
  options.heartbeat = absl::Minutes(5);  // a pause between figures is no silence
  options.load_timeout = absl::Minutes(10);
  return options;
}

absl::Status BenchCase(Collective& collective, const EngineSetting& setting, const EngineCase& what,
                       BenchReport& report) {
  const EngineOptions options = OptionsOf(setting, what);
  LoadMeter meter(Shard::BytesOf(setting.checkpoint.geometry, collective.rank(), collective.ranks()), nullptr,
                  DeadlineAfter(options.load_timeout));
  ENGRAM_ASSIGN_OR_RETURN(LoadedRank loaded, LoadRank(collective, setting.checkpoint, options, meter));
  if (collective.rank() != 0) return AnswerRounds(collective, *loaded.combine, options);
  FrontEngine engine(collective, std::move(loaded), options, nullptr);
  return EngineBench(setting, what, collective.ranks(), report).Run(engine);
}

}  // namespace

absl::Status BenchEngine(Collective& collective, const EngineSetting& setting, absl::Span<const EngineCase> cases,
                         BenchReport& report) {
  for (const EngineCase& what : cases) {
    const absl::Status measured = BenchCase(collective, setting, what, report);
    if (measured.ok()) continue;
    return Annotate(measured, absl::StrCat(std::string(NameOf(what.mode)), ", ", std::string(NameOf(what.placement)),
                                           ", ", collective.ranks(), " ranks"));
  }
  return absl::OkStatus();
}

}  // namespace engram::bench
