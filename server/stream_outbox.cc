#include "server/stream_outbox.h"

#include <algorithm>
#include <utility>

#include "server/answer_bytes.h"

namespace engram {
namespace {

uint64_t RefusalBytes(const v1::StepReply& reply) { return kRefusalBytes + reply.message().size(); }

}  // namespace

void StreamOutbox::AddStep(uint64_t step_id, uint64_t reply_bytes, uint64_t answer_bytes) {
  steps_[step_id] = OpenStep{reply_bytes, answer_bytes};
  bytes_in_flight_ += reply_bytes;
  answer_bytes_ += answer_bytes;
}

void StreamOutbox::PushFrame(ReplyFrame frame) { (frame.decode ? decode_ : other_).push_back(std::move(frame)); }

void StreamOutbox::PushRefusal(const v1::StepReply& reply) {
  answer_bytes_ += RefusalBytes(reply);
  decode_.push_back(ReplyFrame{reply, ArenaLease(), false, true});
}

void StreamOutbox::PushControl(const v1::ServerMessage& message) { control_.push_back(message.SerializeAsString()); }

void StreamOutbox::DropRows(uint64_t step_id) {
  for (std::deque<ReplyFrame>* frames : {&decode_, &other_}) {
    std::erase_if(*frames, [step_id](const ReplyFrame& frame) {
      return frame.head.step_id() == step_id && !frame.last() && frame.head.results().empty();
    });
    for (ReplyFrame& frame : *frames) {
      if (frame.head.step_id() != step_id || frame.last()) continue;
      frame.payload = ArenaLease();
      frame.head.clear_layer();
      frame.head.clear_token_begin();
      frame.head.clear_token_count();
      frame.head.clear_row_index();
    }
  }
}

void StreamOutbox::Clear() { *this = StreamOutbox(); }

std::optional<OutMessage> StreamOutbox::Take() {
  if (!control_.empty()) {
    OutMessage message{std::move(control_.front()), ArenaLease()};
    control_.pop_front();
    return message;
  }
  std::deque<ReplyFrame>& frames = decode_.empty() ? other_ : decode_;
  if (frames.empty()) return std::nullopt;
  ReplyFrame frame = std::move(frames.front());
  frames.pop_front();
  Account(frame);
  std::string head = EncodeUpToPayload(frame);
  return OutMessage{std::move(head), std::move(frame.payload)};
}

void StreamOutbox::Account(const ReplyFrame& frame) {
  const auto step = steps_.find(frame.head.step_id());
  if (step == steps_.end()) {
    answer_bytes_ -= RefusalBytes(frame.head);
    return;
  }
  OpenStep& open = step->second;
  const uint64_t settled = frame.payload.size() + frame.saved_bytes;
  const uint64_t paid = frame.last() ? open.reply_bytes : std::min(open.reply_bytes, settled);
  open.reply_bytes -= paid;
  bytes_in_flight_ -= paid;
  if (!frame.last()) return;
  answer_bytes_ -= open.answer_bytes;
  steps_.erase(step);
}

}  // namespace engram
