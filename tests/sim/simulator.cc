#include "tests/sim/simulator.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/engine_loop.h"

namespace engram {
namespace {

constexpr absl::Duration kHeartbeat = absl::Milliseconds(20);
constexpr absl::Duration kFlush = absl::Seconds(1);
constexpr absl::Duration kPatience = absl::Seconds(60);

// A few tokens a frame and a few frames a round, so that small steps take several of both.
SchedulerOptions SchedulerOptionsOf(const SimModel& sim, const SimOptions& options) {
  SchedulerOptions made;
  made.frames = {.frame_bytes_max = 1500, .round_bytes_max = 4000};
  made.unsent_bytes_max = options.unsent_bytes_max;
  made.decode_tokens_max = 4;
  made.table_version = sim.model.table_version();
  return made;
}

}  // namespace

Simulator::Simulator(const SimModel& sim, const SimOptions& options)
    : sim_(sim),
      options_(options),
      sessions_({.tokens_max = SimModel::kSessionTokensMax}, sim.geometry().max_ngram_size - 1),
      admission_(sim.geometry(), sim.checkpoint.constants, sim.model, sessions_),
      gate_(options.queue_steps_max, absl::UnavailableError("loading")),
      scheduler_(sim.geometry(), sim.checkpoint.constants, SchedulerOptionsOf(sim, options)),
      streams_(options.streams_max),
      context_{sim.model, admission_, sessions_, gate_, scheduler_, options.streams_max},
      reactions_(options.reaction_threads) {
  gate_.Open();
}

Simulator::~Simulator() { Stop(); }

absl::StatusOr<std::shared_ptr<SimStream>> Simulator::Open(const SimWire& wire) {
  auto stream = std::make_shared<SimStream>(context_, streams_, reactions_, wire);
  if (absl::Status status = streams_.Add(stream->call()); !status.ok()) return status;
  stream->Start();
  return stream;
}

std::unique_ptr<FaultyEngine> Simulator::MakeEngine() {
  absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(options_.ranks);
  EXPECT_TRUE(job.ok()) << job.status();
  EngineOptions options;
  options.placement = Placement::kHost;
  options.round_timeout = absl::Seconds(60);  // a busy machine loses no rank
  absl::StatusOr<std::unique_ptr<Engine>> engine = (*job)->Start(sim_.checkpoint, options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return std::make_unique<FaultyEngine>(*std::move(job), *std::move(engine), sim_.geometry(), faults);
}

void Simulator::StartEngine() {
  engine_ = std::thread([this] { RunEngine(); });
}

void Simulator::RunEngine() {
  const std::unique_ptr<FaultyEngine> engine = MakeEngine();
  loop_status_ = RunEngineLoop(scheduler_, *engine, kHeartbeat, stop_);
  if (!loop_status_.ok()) {
    gate_.Close(loop_status_);
    TellLateSteps(scheduler_, *engine, gate_, loop_status_, kPatience);
    streams_.Drain(std::string(loop_status_.message()), kFlush);
  }
  EXPECT_TRUE(engine->Stop().ok());
}

void Simulator::Stop() {
  if (!engine_.joinable()) return;
  stop_ = true;
  scheduler_.Wake();
  engine_.join();
}

void Simulator::Rounds(absl::Time now, int rounds_max) {
  if (by_hand_ == nullptr) by_hand_ = MakeEngine();
  for (int i = 0; i < rounds_max; ++i) {
    const absl::StatusOr<size_t> frames = scheduler_.RunRound(*by_hand_, now);
    ASSERT_TRUE(frames.ok()) << frames.status();
    reactions_.RunAll();
    if (*frames == 0) return;
  }
}

bool Simulator::Drain(absl::Duration timeout) {
  gate_.Close(absl::UnavailableError("draining"));
  return streams_.Drain("draining", timeout);
}

std::string Simulator::Leftovers(absl::Duration wait) {
  const absl::Time give_up = absl::Now() + wait;
  std::string left;
  do {
    left.clear();
    if (const size_t open = streams_.streams(); open > 0) absl::StrAppend(&left, open, " streams ");
    if (const int64_t steps = gate_.steps(); steps != 0) absl::StrAppend(&left, steps, " steps ");
    if (const size_t sessions = sessions_.sessions(); sessions > 0) absl::StrAppend(&left, sessions, " sessions ");
    if (const uint64_t bytes = sessions_.history_bytes(); bytes > 0) absl::StrAppend(&left, bytes, " history bytes ");
    if (const uint64_t bytes = scheduler_.unsent_bytes(); bytes > 0) absl::StrAppend(&left, bytes, " unsent bytes ");
    if (left.empty()) return left;
    absl::SleepFor(absl::Milliseconds(1));
  } while (absl::Now() < give_up);
  return left;
}

}  // namespace engram
