#include "client/link.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/channel.h"
#include "client/model_geometry.h"
#include "client/step_limits.h"
#include "client/step_shape.h"

namespace engram {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// The time left, in whole milliseconds and at least one; no more than the request's own.
uint32_t TimeoutMs(uint32_t own_ms, ClientClock::time_point deadline, ClientClock::time_point now) {
  if (deadline == ClientClock::time_point::max()) return own_ms;
  const int64_t left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  const uint32_t max_ms = own_ms == 0 ? std::numeric_limits<uint32_t>::max() : own_ms;
  return static_cast<uint32_t>(std::clamp<int64_t>(left, 1, max_ms));
}

size_t SessionSegments(const v1::StepRequest& request) {
  size_t segments = 0;
  for (const v1::Segment& segment : request.segments()) segments += segment.session_id() != 0 ? 1 : 0;
  return segments;
}

// Whether the end of a stream says that the server could not, or would not, read a request. Any other end may have had
// another cause than the step that was in flight.
bool IsRefusedRequest(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
}

}  // namespace

Link::Link(const ConnectionOptions& options, std::function<void()> changed)
    : id_(NextId()),
      address_(options.address),
      model_digest_(options.model_digest),
      stream_(std::make_shared<ClientStream>(OpenChannel(options), std::move(changed), options.shared_memory)) {
  stream_->Start(HelloOf(options));
}

absl::Status Link::Open() {
  absl::StatusOr<v1::Welcome> welcome = stream_->AwaitWelcome(absl::ZeroDuration());
  if (!welcome.ok()) return welcome.status();
  welcome_ = *std::move(welcome);
  if (!model_digest_.empty() && model().model_digest() != model_digest_) {
    return absl::FailedPreconditionError("the server serves another model_digest than the client was connected to");
  }
  absl::StatusOr<Geometry> geometry = GeometryOf(model());
  if (geometry.ok()) geometry_ = *std::move(geometry);
  return geometry.status();
}

uint64_t Link::AnswerBytes(const v1::StepRequest& request, uint64_t replayed) const {
  const StepShape shape = ShapeOf(request, geometry_);
  return (shape.SentTokens(0, shape.tokens()) + replayed) * shape.columns * shape.row_bytes * shape.layers.size();
}

absl::Status Link::CheckLimits(const SubmittedStep& step) const {
  const v1::StepRequest& request = step.step.request;
  StepSize size = SizeOf(request, geometry_.max_ngram_size - 1, step.bytes);
  for (const TrackedSegment& tracked : step.step.tracked) {
    const uint64_t start = request.segments(tracked.index).start_pos();
    if (start == 0 || IsKnown(tracked, start, geometry_, id_)) continue;
    size.tokens += static_cast<uint64_t>(tracked.seed.token_ids_size());
    size.bytes += tracked.seed.ByteSizeLong();
  }
  return engram::CheckLimits(request, size, model().limits());
}

bool Link::HasRoomFor(const SubmittedStep& step) const {
  if (flying_.empty()) return true;
  if (step.suspect || flying_.begin()->second.suspect) return false;
  if (welcome_.steps_in_flight_max() != 0 && flying_.size() >= welcome_.steps_in_flight_max()) return false;
  const uint64_t bytes_max = welcome_.bytes_in_flight_max();
  if (bytes_max == 0) return true;
  uint64_t replayed = 0;
  for (const TrackedSegment& tracked : step.step.tracked) {
    replayed += static_cast<uint64_t>(tracked.seed.token_ids_size());
  }
  return AnswerBytes(step.step.request, replayed) + flying_bytes_ <= bytes_max;
}

absl::Status Link::Send(const SubmittedStep& step, ClientClock::time_point now,
                        std::function<void(StepResult)> answered) {
  v1::StepRequest request = step.step.request;
  request.set_timeout_ms(TimeoutMs(request.timeout_ms(), step.deadline, now));
  Flying flying;
  flying.all_tracked = step.step.tracked.size() == SessionSegments(request);
  flying.suspect = step.suspect;
  flying.alone = flying_.empty();
  for (const TrackedSegment& tracked : step.step.tracked) {
    flying.segments.push_back(SeedSegment(tracked, step.step.request, geometry_, id_, request));
  }
  flying.bytes = AnswerBytes(request, 0);
  absl::StatusOr<std::shared_ptr<PendingStep>> sent =
      stream_->Submit(std::move(request), geometry_, step.keep_unique, std::move(answered));
  if (!sent.ok()) return sent.status();
  flying.wire_id = (*sent)->step_id();
  for (const SeededSegment& segment : flying.segments) segment.view->NoteSent(id_, flying.wire_id);
  if (flying_.size() == 1) flying_.begin()->second.alone = false;
  flying_bytes_ += flying.bytes;
  flying_.emplace(step.step_id, std::move(flying));
  return absl::OkStatus();
}

Verdict Link::Answered(uint64_t step_id, StepResult& result) {
  const auto found = flying_.find(step_id);
  const Flying sent = std::move(found->second);
  flying_.erase(found);
  flying_bytes_ -= sent.bytes;
  if (state().ended) return sent.alone && IsRefusedRequest(result.status) ? Verdict::kFinished : Verdict::kLost;
  for (const SeededSegment& segment : sent.segments) {
    if (!result.segment_status(static_cast<size_t>(segment.index)).ok()) continue;
    segment.view->NoteAccepted(id_, sent.wire_id, segment.edit, segment.seeded, segment.begin);
  }
  const Verdict verdict = Judge(sent, result);
  TakeSeedsOut(sent.segments, result);
  return verdict;
}

// Only a step whose sessions are all tracked is repeated for what its segments say: to repeat another could rewind a
// session that has moved on. A tracked session has no other user, so that ABORTED speaks of a connection of this client
// that was lost and that the server still works for: that ends once the server notices, and is no reason to leave this
// connection, on which other steps are served.
Verdict Link::Judge(const Flying& sent, const StepResult& result) const {
  if (absl::IsUnavailable(result.status)) return Verdict::kElsewhere;
  if (!sent.all_tracked) return Verdict::kFinished;
  Verdict verdict = Verdict::kFinished;
  for (const SeededSegment& segment : sent.segments) {
    if (static_cast<size_t>(segment.index) >= result.segments.size()) continue;
    const absl::Status status = result.segment_status(static_cast<size_t>(segment.index));
    if (absl::IsAborted(status)) return Verdict::kBusy;
    if (absl::IsFailedPrecondition(status) && !segment.seeded) verdict = Verdict::kAgain;
  }
  return verdict;
}

void Link::Cancel(uint64_t step_id) {
  const auto found = flying_.find(step_id);
  if (found != flying_.end()) stream_->Cancel(found->second.wire_id);
}

}  // namespace engram
