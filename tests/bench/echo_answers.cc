#include "echo_answers.h"

#include <numeric>
#include <string>
#include <utility>

#include "echo_rows.h"
#include "server/reply_frame.h"
#include "server/stream_outbox.h"

namespace engram {
namespace {

// engram-server's defaults (config.proto).
constexpr FrameLimits kLimits{.frame_bytes_max = 1 << 20, .round_bytes_max = 4 << 20};

// As EncodeUpToPayload, for a payload that nobody leased.
std::string EncodeUpToRows(const v1::StepReply& head, uint64_t row_bytes) {
  const auto varint = [](std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  };
  const auto tag = [](int field) { return static_cast<uint64_t>(field) << 3 | 2; };
  std::string reply = head.SerializeAsString();
  varint(reply, tag(v1::StepReply::kRowsFieldNumber));
  varint(reply, row_bytes);
  std::string message;
  varint(message, tag(v1::ServerMessage::kReplyFieldNumber));
  varint(message, reply.size() + row_bytes);
  return message + reply;
}

}  // namespace

Echo::Echo(const Geometry& geometry)
    : geometry_(geometry), rows_(geometry.layers() * kEchoTokensMax * TokenBytes(geometry, v1::ROW_FORMAT_PACKED)) {
  for (uint64_t i = 0; i < rows_.size(); ++i) rows_[i] = EchoByte(i);
}

void Echo::Answer(const v1::StepRequest& request, std::deque<EchoMessage>& messages) const {
  const Step step = StepOf(request);
  for (FramePlan plan(step, geometry_, kLimits); plan.Peek() != nullptr; plan.Pop()) {
    const Frame& frame = *plan.Peek();
    messages.push_back({MessageOf(step, frame), !frame.last && frame.payload_bytes <= kWaitingPayloadMax});
  }
}

Step Echo::StepOf(const v1::StepRequest& request) const {
  Step step;
  step.step_id = request.step_id();
  step.layer_indices.resize(geometry_.layers());
  std::iota(step.layer_indices.begin(), step.layer_indices.end(), size_t{0});
  for (const v1::Segment& segment : request.segments()) {
    StepSegment taken;
    taken.token_begin = step.tokens;
    taken.window.resize(static_cast<size_t>(segment.token_ids_size()));
    step.tokens += taken.tokens();
    step.segments.push_back(std::move(taken));
    step.results.emplace_back().set_session_id(segment.session_id());
  }
  return step;
}

grpc::ByteBuffer Echo::MessageOf(const Step& step, const Frame& frame) const {
  ReplyFrame reply;
  reply.head.set_step_id(step.step_id);
  reply.head.set_table_version(1);
  reply.head.set_last(frame.last);
  reply.head.set_layer(geometry_.layer_ids[frame.layer_index]);
  reply.head.set_token_begin(frame.token_begin);
  reply.head.set_token_count(frame.token_count);
  for (size_t i = frame.results_begin; i < frame.results_end; ++i) *reply.head.add_results() = step.results[i];
  const uint64_t token_bytes = TokenBytes(geometry_, v1::ROW_FORMAT_PACKED);
  const std::byte* rows = rows_.data() + EchoOffset(frame.layer_index, frame.token_begin, token_bytes);
  const grpc::Slice slices[] = {grpc::Slice(EncodeUpToRows(reply.head, frame.payload_bytes)),
                                grpc::Slice(
                                    const_cast<std::byte*>(rows), frame.payload_bytes, [](void*) {}, nullptr)};
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace engram
