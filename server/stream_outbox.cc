#include "server/stream_outbox.h"

#include <algorithm>
#include <utility>

#include "server/answer_bytes.h"

namespace engram {
namespace {

uint64_t RefusalBytes(const v1::StepReply& reply) { return kRefusalBytes + reply.message().size(); }

}  // namespace

void StreamOutbox::AddStep(uint64_t step_id, uint64_t reply_bytes, uint64_t answer_bytes,
                           std::shared_ptr<PlacedRows> place) {
  steps_[step_id] = OpenStep{reply_bytes, answer_bytes, std::move(place)};
  bytes_in_flight_ += reply_bytes;
  answer_bytes_ += answer_bytes;
}

std::shared_ptr<PlacedRows> StreamOutbox::PlaceOf(uint64_t step_id) const {
  const auto step = steps_.find(step_id);
  return step == steps_.end() ? nullptr : step->second.place;
}

void StreamOutbox::PushFrame(ReplyFrame frame) {
  const auto step = steps_.find(frame.head.step_id());
  // Without the rows before them those of a frame that was under way would make no sense.
  if (step != steps_.end() && step->second.rows_dropped && !frame.last()) {
    if (frame.head.results().empty()) return;
    frame.payload = ArenaLease();
    ForgetRows(frame.head);
  }
  (frame.decode ? decode_ : other_).push_back(std::move(frame));
}

void StreamOutbox::PushRefusal(const v1::StepReply& reply) {
  answer_bytes_ += RefusalBytes(reply);
  decode_.push_back(ReplyFrame{reply, ArenaLease(), false, true});
}

void StreamOutbox::PushControl(const v1::ServerMessage& message) {
  control_.push_back({message.SerializeAsString(), 0});
}

void StreamOutbox::PushSegmentReply(const v1::ServerMessage& message) {
  control_.push_back({message.SerializeAsString(), kRefusalBytes + message.ByteSizeLong()});
  answer_bytes_ += control_.back().answer_bytes;
}

void StreamOutbox::DropRows(uint64_t step_id) {
  if (const auto step = steps_.find(step_id); step != steps_.end()) step->second.rows_dropped = true;
  for (std::deque<ReplyFrame>* frames : {&decode_, &other_}) {
    std::erase_if(*frames, [step_id](const ReplyFrame& frame) {
      return frame.head.step_id() == step_id && !frame.last() && frame.head.results().empty();
    });
    for (ReplyFrame& frame : *frames) {
      if (frame.head.step_id() != step_id || frame.last()) continue;
      frame.payload = ArenaLease();
      ForgetRows(frame.head);
    }
  }
}

void StreamOutbox::Clear() { *this = StreamOutbox(); }

std::optional<OutMessage> StreamOutbox::Take() {
  if (!control_.empty()) {
    answer_bytes_ -= control_.front().answer_bytes;
    OutMessage message{std::move(control_.front().message), ArenaLease(), false};
    control_.pop_front();
    return message;
  }
  std::deque<ReplyFrame>& frames = decode_.empty() ? other_ : decode_;
  if (frames.empty()) return std::nullopt;
  ReplyFrame frame = std::move(frames.front());
  frames.pop_front();
  Account(frame);
  std::string head = EncodeUpToPayload(frame);
  const bool may_wait = frame.decode && !frame.last() && frame.payload.size() <= kWaitingPayloadMax;
  return OutMessage{std::move(head), std::move(frame.payload), may_wait};
}

void StreamOutbox::Account(const ReplyFrame& frame) {
  const auto step = steps_.find(frame.head.step_id());
  if (step == steps_.end()) {
    answer_bytes_ -= RefusalBytes(frame.head);
    return;
  }
  OpenStep& open = step->second;
  const uint64_t settled = frame.payload.size() + frame.saved_bytes + frame.head.place_bytes();
  const uint64_t paid = frame.last() ? open.reply_bytes : std::min(open.reply_bytes, settled);
  open.reply_bytes -= paid;
  bytes_in_flight_ -= paid;
  if (!frame.last()) return;
  answer_bytes_ -= open.answer_bytes;
  steps_.erase(step);
}

}  // namespace engram
