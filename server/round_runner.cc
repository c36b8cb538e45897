#include "server/round_runner.h"

#include <unordered_set>
#include <utility>

namespace engram {

RoundRunner::RoundRunner(const Geometry& geometry, const HashConstants& constants, const SchedulerOptions& options,
                         StepQueue& queue, StageCounters& stages, FrameSender& sender)
    : geometry_(geometry),
      options_(options),
      hasher_(geometry, constants),
      queue_(queue),
      stages_(stages),
      sender_(sender) {}

absl::StatusOr<size_t> RoundRunner::Run(Engine& engine, const RoundBounds& bounds, absl::Time now) {
  EndSteps(now);
  const size_t begun = BeginRound(engine, bounds);
  // With nothing to begin, a round that stayed in flight would only be late.
  const size_t stay = begun > 0 ? static_cast<size_t>(engine.rounds_in_flight_max()) - 1 : 0;
  size_t delivered = 0;
  const absl::Status status = DeliverUntil(stay, engine, delivered);
  EndSteps(now);
  if (!status.ok()) return status;
  return begun > 0 ? begun : delivered;
}

absl::Status RoundRunner::Finish(Engine& engine, absl::Time now) {
  size_t delivered = 0;
  absl::Status status = DeliverUntil(0, engine, delivered);
  EndSteps(now);
  return status;
}

void RoundRunner::EndSteps(absl::Time now) {
  for (std::unique_ptr<QueuedStep>& step : queue_.TakeEnded(now)) EndStep(*step);
}

// The step is out of the queue. What results it still owes go out, then its last frame.
void RoundRunner::EndStep(QueuedStep& step) {
  ++counters_.steps;
  // Before the last frame: who reads it may write the same sessions on another stream at once.
  step.step.sessions.clear();
  step.ticket = StepTicket();
  if (step.sink == nullptr) return;
  const bool decode = step.lane == Lane::kDecode;
  v1::StepReply last = FailedReply(step.step.step_id, options_.table_version, step.fate);
  if (step.plan.Peek() != nullptr) {
    step.plan.DropRows();
    for (; !step.plan.Peek()->last; step.plan.Pop()) {
      sender_.Send(step.sink, ReplyFrame{HeadOf(step.step, *step.plan.Peek()), ArenaLease(), false, decode});
    }
    last.MergeFrom(HeadOf(step.step, *step.plan.Peek()));
  }
  sender_.Send(std::move(step.sink), ReplyFrame{std::move(last), ArenaLease(), false, decode});
}

size_t RoundRunner::BeginRound(Engine& engine, const RoundBounds& bounds) {
  std::vector<PickedFrame> frames = queue_.PickRound(bounds);
  if (frames.empty()) return 0;
  if (spare_.empty()) spare_.push_back(std::make_unique<Round>());
  rounds_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  Round& round = *rounds_.back();
  round.frames = std::move(frames);
  stages_.AddRound();
  {
    const StageTimer timer(stages_, Stage::kHash);
    HashRound(hasher_, round);
  }
  if (!round.ids.empty()) BeginGather(engine, round);
  return round.frames.size();
}

// A round that the engine does not hold waits for nothing but its turn.
absl::Status RoundRunner::DeliverUntil(size_t stay, Engine& engine, size_t& frames) {
  absl::Status lost;
  while (!rounds_.empty() && (rounds_.size() > stay || !rounds_.front()->begun || !lost.ok())) {
    const std::unique_ptr<Round>& round = rounds_.front();
    frames += round->frames.size();
    lost.Update(FinishAndDeliver(engine, *round));
    round->Clear();
    spare_.push_back(std::move(rounds_.front()));
    rounds_.pop_front();
  }
  return lost;
}

absl::Status RoundRunner::FinishAndDeliver(Engine& engine, Round& round) {
  FinishGather(engine, round);
  if (!round.status.ok() && !absl::IsUnavailable(round.status)) {
    // A round failed but the ranks live: each step by itself, so that it fails alone. Gather needs an engine that holds
    // no round.
    for (const std::unique_ptr<Round>& later : rounds_) FinishGather(engine, *later);
    round.status = GatherOneByOne(engine, round);
  }
  const absl::Status lost = round.status;
  if (!lost.ok()) queue_.FailAll(lost);
  Deliver(round);
  return lost;
}

void RoundRunner::BeginGather(Engine& engine, Round& round) {
  const StageTimer timer(stages_, Stage::kGather);
  ++counters_.gathers;
  counters_.rows += round.rows();
  round.status = engine.Begin(round.blocks);
  round.begun = round.status.ok();
}

void RoundRunner::FinishGather(Engine& engine, Round& round) {
  if (!std::exchange(round.begun, false)) return;
  const StageTimer timer(stages_, Stage::kGather);
  round.status = engine.Finish();
}

absl::Status RoundRunner::GatherOneByOne(Engine& engine, const Round& round) {
  const StageTimer timer(stages_, Stage::kGather);
  std::unordered_set<const QueuedStep*> seen;
  for (const PickedFrame& first : round.frames) {
    if (!IsGathered(first) || !seen.insert(first.step).second) continue;
    absl::Status status = engine.Gather(BlocksOf(*first.step, round));
    if (absl::IsUnavailable(status)) return status;
    if (status.ok()) continue;
    queue_.Fail(*first.step, status);
    // It may fail with both of two rounds.
    if (!std::exchange(first.step->failure_told, true) && options_.on_step_failure) options_.on_step_failure(status);
  }
  return absl::OkStatus();
}

void RoundRunner::Deliver(Round& round) {
  for (PickedFrame& picked : round.frames) DeliverFrame(picked);
}

void RoundRunner::DeliverFrame(PickedFrame& picked) {
  ClaimedFrame claimed = queue_.Claim(picked);
  const bool decode = picked.step->lane == Lane::kDecode;
  const bool hash_ids = picked.step->step.format == v1::ROW_FORMAT_HASH_IDS;
  if (claimed.rows_dropped) {
    picked.frame.token_count = 0;
    picked.frame.last = false;
    picked.payload = ArenaLease();
  }
  v1::StepReply head = HeadOf(picked.step->step, picked.frame);
  const bool indexed = picked.row_index != nullptr && !claimed.rows_dropped;
  if (indexed) head.mutable_row_index()->Swap(picked.row_index.get());
  if (claimed.finished != nullptr) {
    ++counters_.steps;
    SetOutcome(claimed.finished->step.close_status, head);
  }
  claimed.finished.reset();  // sessions and ticket before the last frame, as in EndStep
  if (claimed.sink == nullptr) return;
  ++counters_.frames;
  counters_.payload_bytes += picked.payload.size();
  const uint64_t saved = indexed ? picked.frame.payload_bytes - picked.payload.size() : 0;
  sender_.Send(std::move(claimed.sink),
               ReplyFrame{std::move(head), std::move(picked.payload), hash_ids, decode, saved});
}

v1::StepReply RoundRunner::HeadOf(Step& step, const Frame& frame) const {
  v1::StepReply head;
  head.set_step_id(step.step_id);
  head.set_table_version(options_.table_version);
  head.set_last(frame.last);
  if (frame.token_count > 0) {
    head.set_layer(geometry_.layer_ids[frame.layer_index]);
    head.set_token_begin(frame.token_begin);
    head.set_token_count(frame.token_count);
  }
  for (size_t i = frame.results_begin; i < frame.results_end; ++i) *head.add_results() = std::move(step.results[i]);
  return head;
}

}  // namespace engram
