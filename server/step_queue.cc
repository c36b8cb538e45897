#include "server/step_queue.h"

#include <algorithm>
#include <limits>

#include "model/check.h"

namespace engram {
namespace {

// So many rounds of nothing but decode, and one frame of a larger step goes first.
constexpr int kPrefillPatienceRounds = 8;

}  // namespace

// One stream's steps. Guarded by the queue's mutex.
class StreamQueue {
 public:
  StreamQueue(uint64_t stream_id, std::shared_ptr<FrameSink> sink, std::shared_ptr<Doorbell> doorbell)
      : stream_id_(stream_id), sink_(std::move(sink)), unsent_(std::make_shared<ByteAccount>(std::move(doorbell))) {}

  std::deque<QueuedStep*>& LaneOf(Lane lane) { return lanes_[static_cast<size_t>(lane)]; }

  const uint64_t stream_id_;
  std::shared_ptr<FrameSink> sink_;  // null once closed
  const std::shared_ptr<ByteAccount> unsent_;
  std::unordered_map<uint64_t, std::unique_ptr<QueuedStep>> steps_;  // by step_id
  std::array<std::deque<QueuedStep*>, 2> lanes_;                     // steps with frames to pick
};

StepQueue::StepQueue(const Geometry& geometry, SchedulerOptions options, std::shared_ptr<Doorbell> doorbell)
    : geometry_(geometry), options_(options), doorbell_(std::move(doorbell)), arena_(options.cached_bytes_max) {}

StepQueue::~StepQueue() = default;

uint64_t StepQueue::OpenStream(std::shared_ptr<FrameSink> sink) {
  MutexLock lock(mu_);
  const uint64_t id = next_stream_id_++;
  streams_[id] = std::make_unique<StreamQueue>(id, std::move(sink), doorbell_);
  return id;
}

void StepQueue::CloseStream(uint64_t stream_id) {
  std::shared_ptr<FrameSink> sink;  // the last reference may go: outside the lock
  {
    MutexLock lock(mu_);
    const auto found = streams_.find(stream_id);
    if (found == streams_.end()) return;
    StreamQueue& stream = *found->second;
    sink = std::move(stream.sink_);
    stream.sink_ = nullptr;
    for (auto& [step_id, step] : stream.steps_) {
      step->sink = nullptr;
      SetFate(*step, absl::CancelledError("the stream ended"));
    }
    if (stream.steps_.empty()) streams_.erase(found);
  }
  doorbell_->Ring();
}

void StepQueue::Submit(uint64_t stream_id, StepTicket ticket, Step step) {
  auto queued = std::make_unique<QueuedStep>(std::move(step), geometry_, options_.frames);
  queued->ticket = std::move(ticket);
  queued->lane = queued->step.tokens <= options_.decode_tokens_max ? Lane::kDecode : Lane::kPrefill;
  {
    MutexLock lock(mu_);
    const auto found = streams_.find(stream_id);
    if (found == streams_.end() || found->second->sink_ == nullptr) return;
    StreamQueue& stream = *found->second;
    queued->stream = &stream;
    queued->sink = stream.sink_;
    QueuedStep* raw = queued.get();
    ENGRAM_CHECK(stream.steps_.emplace(raw->step.step_id, std::move(queued)).second);
    if (raw->step.deadline != absl::InfiniteFuture()) deadlines_.emplace(raw->step.deadline, raw);
    if (stream.LaneOf(raw->lane).empty()) RingOf(raw->lane).push_back(&stream);
    stream.LaneOf(raw->lane).push_back(raw);
  }
}

bool StepQueue::Cancel(uint64_t stream_id, uint64_t step_id) {
  {
    MutexLock lock(mu_);
    const auto stream = streams_.find(stream_id);
    if (stream == streams_.end()) return false;
    const auto step = stream->second->steps_.find(step_id);
    if (step == stream->second->steps_.end()) return false;
    SetFate(*step->second, absl::CancelledError("cancelled by the client"));
  }
  doorbell_->Ring();
  return true;
}

std::vector<PickedFrame> StepQueue::PickRound(const RoundBounds& bounds) {
  MutexLock lock(mu_);
  Picks picks;
  picks.room_bytes = bounds.payload_bytes;
  if (bounds.decode_only) {
    PickLane(Lane::kDecode, std::numeric_limits<size_t>::max(), picks);
    return std::move(picks.frames);
  }
  if (rounds_without_prefill_ >= kPrefillPatienceRounds) PickLane(Lane::kPrefill, 1, picks);
  PickLane(Lane::kDecode, std::numeric_limits<size_t>::max(), picks);
  PickLane(Lane::kPrefill, std::numeric_limits<size_t>::max(), picks);
  const bool prefill_picked = std::any_of(picks.frames.begin(), picks.frames.end(), [](const PickedFrame& picked) {
    return picked.step->lane == Lane::kPrefill;
  });
  rounds_without_prefill_ = prefill_picked || RingOf(Lane::kPrefill).empty() ? 0 : rounds_without_prefill_ + 1;
  return std::move(picks.frames);
}

void StepQueue::PickLane(Lane lane, size_t frames_max, Picks& picks) {
  std::deque<StreamQueue*>& ring = RingOf(lane);
  size_t skipped = 0;
  while (skipped < ring.size() && picks.frames.size() < frames_max) {
    StreamQueue* stream = ring.front();
    const bool full = stream->unsent_->IsFull(options_.unsent_bytes_max);
    if (!full && !PickFrom(*stream, lane, picks)) return;  // no room left: it stays in front
    ring.pop_front();
    if (!stream->LaneOf(lane).empty()) ring.push_back(stream);
    skipped = full ? skipped + 1 : 0;
  }
}

// One turn of a stream. False when its next frame does not fit into what is left of the round.
bool StepQueue::PickFrom(StreamQueue& stream, Lane lane, Picks& picks) {
  QueuedStep& step = *stream.LaneOf(lane).front();
  do {
    const Frame frame = *step.plan.Peek();
    if (frame.payload_bytes > picks.room_bytes) return false;
    picks.room_bytes -= frame.payload_bytes;
    PickedFrame picked{&step, frame, ArenaLease(), nullptr};
    if (frame.payload_bytes > 0) picked.payload = arena_.Lease(frame.payload_bytes, stream.unsent_);
    picks.frames.push_back(std::move(picked));
    ++step.frames_in_flight;
    step.plan.Pop();
    if (step.plan.Peek() == nullptr) {
      stream.LaneOf(lane).pop_front();
      return true;
    }
  } while (lane == Lane::kDecode && !stream.unsent_->IsFull(options_.unsent_bytes_max));
  return true;
}

bool StepQueue::AnythingWaits() {
  MutexLock lock(mu_);
  return !RingOf(Lane::kDecode).empty() || !RingOf(Lane::kPrefill).empty();
}

ClaimedFrame StepQueue::Claim(const PickedFrame& picked) {
  MutexLock lock(mu_);
  QueuedStep& step = *picked.step;
  ENGRAM_CHECK(step.frames_in_flight > 0);
  --step.frames_in_flight;
  ClaimedFrame claimed;
  if (!step.fate.ok()) {
    claimed.rows_dropped = true;
    if (picked.frame.has_results()) claimed.sink = step.sink;
    return claimed;
  }
  claimed.sink = step.sink;
  if (picked.frame.last) claimed.finished = TakeOut(step);
  return claimed;
}

void StepQueue::Fail(QueuedStep& step, const absl::Status& status) {
  MutexLock lock(mu_);
  SetFate(step, status);
}

void StepQueue::FailAll(const absl::Status& status) {
  MutexLock lock(mu_);
  for (auto& [id, stream] : streams_) {
    for (auto& [step_id, step] : stream->steps_) SetFate(*step, status);
  }
}

std::vector<std::unique_ptr<QueuedStep>> StepQueue::TakeEnded(absl::Time now) {
  MutexLock lock(mu_);
  for (auto it = deadlines_.begin(); it != deadlines_.end() && it->first <= now; ++it) {
    SetFate(*it->second, absl::DeadlineExceededError("timeout_ms or the call's deadline passed before the last frame"));
  }
  std::vector<std::unique_ptr<QueuedStep>> taken;
  taken.reserve(ended_.size());
  for (QueuedStep* step : std::exchange(ended_, {})) {
    LeaveLane(*step);
    if (step->frames_in_flight > 0) {
      ended_.push_back(step);
    } else {
      taken.push_back(TakeOut(*step));
    }
  }
  return taken;
}

absl::Time StepQueue::NextDeadline() {
  MutexLock lock(mu_);
  return deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
}

void StepQueue::SetFate(QueuedStep& step, const absl::Status& status) {
  if (!step.fate.ok()) return;
  step.fate = status;
  ended_.push_back(&step);
}

void StepQueue::LeaveLane(QueuedStep& step) {
  std::deque<QueuedStep*>& lane = step.stream->LaneOf(step.lane);
  if (std::erase(lane, &step) > 0 && lane.empty()) std::erase(RingOf(step.lane), step.stream);
}

std::unique_ptr<QueuedStep> StepQueue::TakeOut(QueuedStep& step) {
  ENGRAM_CHECK(step.frames_in_flight == 0);
  deadlines_.erase({step.step.deadline, &step});
  StreamQueue& stream = *step.stream;
  const auto found = stream.steps_.find(step.step.step_id);
  std::unique_ptr<QueuedStep> taken = std::move(found->second);
  stream.steps_.erase(found);
  if (stream.steps_.empty() && stream.sink_ == nullptr) streams_.erase(stream.stream_id_);
  return taken;
}

}  // namespace engram
