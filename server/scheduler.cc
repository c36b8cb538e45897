#include "server/scheduler.h"

#include <algorithm>
#include <unordered_set>

#include "absl/time/clock.h"
#include "model/check.h"
#include "server/frame_hash.h"

namespace engram {
namespace {

// Adds the time until it goes out of scope.
class Stopwatch {
 public:
  explicit Stopwatch(absl::Duration& total) : total_(total) {}
  ~Stopwatch() { total_ += absl::Nanoseconds(absl::GetCurrentTimeNanos() - start_); }

 private:
  absl::Duration& total_;
  const int64_t start_ = absl::GetCurrentTimeNanos();
};

bool IsGathered(const PickedFrame& picked) {
  return picked.frame.rows > 0 && picked.step->step.format != v1::ROW_FORMAT_HASH_IDS;
}

}  // namespace

Scheduler::Scheduler(const Geometry& geometry, const HashConstants& constants, SchedulerOptions options)
    : geometry_(geometry), options_(options), hasher_(geometry, constants), queue_(geometry, options, doorbell_) {}

void Scheduler::FailAll(const absl::Status& status) {
  queue_.FailAll(status);
  doorbell_->Ring();
}

absl::StatusOr<size_t> Scheduler::RunRound(Engine& engine, absl::Time now) {
  EndSteps(now);
  std::vector<PickedFrame> round = queue_.PickRound();
  if (round.empty()) return size_t{0};
  ++counters_.rounds;
  HashRound(round);
  absl::Status status = GatherRound(engine, round);
  if (!status.ok()) queue_.FailAll(status);
  DeliverRound(round);
  EndSteps(now);
  if (!status.ok()) return status;
  return round.size();
}

void Scheduler::WaitFor(absl::Duration wait, absl::Time now) {
  doorbell_->WaitFor(std::min(wait, queue_.NextDeadline() - now));
}

void Scheduler::EndSteps(absl::Time now) {
  for (std::unique_ptr<QueuedStep>& step : queue_.TakeEnded(now)) EndStep(*step);
}

// The step is out of the queue. What results it still owes go out, then its last frame.
void Scheduler::EndStep(QueuedStep& step) {
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
      step.sink->Deliver(ReplyFrame{HeadOf(step.step, *step.plan.Peek()), ArenaLease(), false, decode});
    }
    last.MergeFrom(HeadOf(step.step, *step.plan.Peek()));
  }
  step.sink->Deliver(ReplyFrame{std::move(last), ArenaLease(), false, decode});
}

// Hash ids that are the answer go straight into the reply; those to gather by go into ids_.
void Scheduler::HashRound(std::vector<PickedFrame>& round) {
  Stopwatch watch(counters_.hash_time);
  size_t ids = 0;
  for (const PickedFrame& picked : round) ids += IsGathered(picked) ? picked.frame.rows * hasher_.columns() : 0;
  ids_.resize(ids);
  blocks_.assign(round.size(), RowBlock{});
  absl::Span<uint64_t> rest = absl::MakeSpan(ids_);
  for (size_t i = 0; i < round.size(); ++i) {
    PickedFrame& picked = round[i];
    const size_t count = picked.frame.rows * hasher_.columns();
    if (count == 0) continue;
    absl::Span<uint64_t> out(reinterpret_cast<uint64_t*>(picked.payload.data()), count);
    if (IsGathered(picked)) {
      out = rest.first(count);
      rest.remove_prefix(count);
      const RowForm form = picked.step->step.format == v1::ROW_FORMAT_BF16 ? RowForm::kBf16 : RowForm::kPacked;
      blocks_[i] = RowBlock{picked.frame.layer_index, form, out, picked.payload.data()};
    }
    HashFrame(hasher_, picked.step->step, picked.frame, out);
  }
}

absl::Status Scheduler::GatherRound(Engine& engine, std::vector<PickedFrame>& round) {
  if (ids_.empty()) return absl::OkStatus();
  Stopwatch watch(counters_.gather_time);
  ++counters_.gathers;
  counters_.rows += ids_.size();
  absl::Status status = engine.Gather(blocks_);
  if (status.ok() || absl::IsUnavailable(status)) return status;
  return GatherOneByOne(engine, round);
}

// A round failed but the ranks live: each step by itself, so that it fails alone.
absl::Status Scheduler::GatherOneByOne(Engine& engine, std::vector<PickedFrame>& round) {
  std::unordered_set<const QueuedStep*> seen;
  for (const PickedFrame& first : round) {
    if (!IsGathered(first) || !seen.insert(first.step).second) continue;
    std::vector<RowBlock> blocks;
    for (size_t i = 0; i < round.size(); ++i) {
      if (round[i].step == first.step) blocks.push_back(blocks_[i]);
    }
    absl::Status status = engine.Gather(blocks);
    if (absl::IsUnavailable(status)) return status;
    if (status.ok()) continue;
    queue_.Fail(*first.step, status);
    if (options_.on_step_failure) options_.on_step_failure(status);
  }
  return absl::OkStatus();
}

void Scheduler::DeliverRound(std::vector<PickedFrame>& round) {
  Stopwatch watch(counters_.deliver_time);
  for (PickedFrame& picked : round) {
    ClaimedFrame claimed = queue_.Claim(picked);
    const bool decode = picked.step->lane == Lane::kDecode;
    const bool hash_ids = picked.step->step.format == v1::ROW_FORMAT_HASH_IDS;
    if (claimed.rows_dropped) {
      picked.frame.token_count = 0;
      picked.frame.last = false;
      picked.payload = ArenaLease();
    }
    v1::StepReply head = HeadOf(picked.step->step, picked.frame);
    if (claimed.finished != nullptr) {
      ++counters_.steps;
      SetOutcome(claimed.finished->step.close_status, head);
    }
    claimed.finished.reset();  // sessions and ticket before the last frame, as in EndStep
    if (claimed.sink == nullptr) continue;
    ++counters_.frames;
    counters_.payload_bytes += picked.payload.size();
    claimed.sink->Deliver(ReplyFrame{std::move(head), std::move(picked.payload), hash_ids, decode});
  }
}

v1::StepReply Scheduler::HeadOf(Step& step, const Frame& frame) const {
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
