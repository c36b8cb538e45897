#include "load_stream.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/step_result.h"
#include "echo_rows.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr uint64_t kSampledEvery = 8;  // steps

}  // namespace

LoadStream::LoadStream(const BenchInput& input, const LoadPlan& plan, uint64_t begin)
    : input_(input),
      plan_(plan),
      begin_(begin),
      token_bytes_(uint64_t{input.geometry().columns()} * input.geometry().packed_row_bytes()),
      check_(input),
      sampled_(token_bytes_) {}

absl::Status LoadStream::Connect() {
  ENGRAM_ASSIGN_OR_RETURN(stream_, RawStream::Open(plan_.server));
  if (plan_.shared) ENGRAM_RETURN_IF_ERROR(Share());
  ENGRAM_RETURN_IF_ERROR(Send());
  while (!in_flight_.empty()) ENGRAM_RETURN_IF_ERROR(Receive());
  latencies_.clear();
  answered_ = 0;
  return absl::OkStatus();
}

absl::Status LoadStream::Share() {
  SharedMemoryOptions options;
  options.bytes = plan_.in_flight * plan_.tokens * token_bytes_ * input_.geometry().layers();
  ENGRAM_ASSIGN_OR_RETURN(segment_, ClientSegment::Create(options));
  v1::ClientMessage message;
  message.mutable_register_segment()->set_segment_id(ClientSegment::kId);
  message.mutable_register_segment()->set_name(segment_->name());
  message.mutable_register_segment()->set_bytes(segment_->bytes());
  grpc::ByteBuffer answer;
  if (!stream_->Write(message) || !stream_->Read(answer)) {
    return absl::UnavailableError(absl::StrCat(plan_.server, ": the stream has ended"));
  }
  segment_->Unlink();
  grpc::ProtoBufferReader reader(&answer);
  ENGRAM_ASSIGN_OR_RETURN(const ServerFrame frame, ReadServerFrame(reader, answer.Length()));
  return StatusOfCode(frame.message.segment().code(), frame.message.segment().message());
}

absl::Status LoadStream::Run() {
  const auto pace = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan_.pace_seconds));
  for (Clock::time_point next = Clock::now(); !stop_; next += pace) {
    if (plan_.pace_seconds > 0) std::this_thread::sleep_until(next);
    while (in_flight_.size() < plan_.in_flight) ENGRAM_RETURN_IF_ERROR(Send());
    const uint64_t begun = in_flight_.front().step_id;
    while (!stop_ && !in_flight_.empty() && in_flight_.front().step_id == begun) ENGRAM_RETURN_IF_ERROR(Receive());
  }
  return absl::OkStatus();
}

absl::Status LoadStream::Send() {
  if (position_ + plan_.tokens > input_.tokens.size()) position_ = 0;  // a rewind: written anew from there
  v1::ClientMessage message;
  v1::StepRequest& step = *message.mutable_step();
  step.set_step_id(++last_step_id_);
  v1::Segment& segment = *step.add_segments();
  segment.set_session_id(1);
  segment.set_start_pos(position_);
  for (uint32_t i = 0; i < plan_.tokens; ++i) {
    segment.add_token_ids(input_.tokens[(begin_ + position_ + i) % input_.tokens.size()]);
  }
  const bool sampled = last_step_id_ % kSampledEvery == 1;
  const uint64_t token = sampled ? last_step_id_ * 0x9E3779B9u % plan_.tokens : plan_.tokens;
  std::shared_ptr<SegmentPlace> place;
  if (segment_ != nullptr) {
    place = segment_->Take(plan_.tokens * token_bytes_ * input_.geometry().layers());
    if (place == nullptr) return absl::InternalError("no place for a step, and no more in flight than planned");
    step.mutable_place()->set_segment_id(ClientSegment::kId);
    step.mutable_place()->set_offset(place->offset());
  }
  in_flight_.push_back({last_step_id_, position_, token, Clock::now(), std::move(place)});
  position_ += plan_.tokens;
  if (stream_->Write(message)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(plan_.server, ": the stream has ended"));
}

absl::Status LoadStream::Receive() {
  grpc::ByteBuffer message;
  if (!stream_->Read(message)) return absl::UnavailableError(absl::StrCat(plan_.server, ": the stream has ended"));
  grpc::ProtoBufferReader reader(&message);
  ENGRAM_ASSIGN_OR_RETURN(const ServerFrame frame, ReadServerFrame(reader, message.Length()));
  const v1::StepReply& reply = frame.message.reply();
  const auto step = std::find_if(in_flight_.begin(), in_flight_.end(),
                                 [&](const Sent& sent) { return sent.step_id == reply.step_id(); });
  if (step == in_flight_.end()) return absl::InternalError("a frame of a step that is not in flight");
  ENGRAM_RETURN_IF_ERROR(TakeFrame(*step, frame, message));
  if (!reply.last()) return absl::OkStatus();
  latencies_.push_back(std::chrono::duration<double>(Clock::now() - step->at).count());
  in_flight_.erase(step);
  answered_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status LoadStream::TakeFrame(const Sent& step, const ServerFrame& frame, grpc::ByteBuffer& message) {
  const v1::StepReply& reply = frame.message.reply();
  if (reply.code() != 0) return StatusOfCode(reply.code(), reply.message());
  for (const v1::SegmentResult& result : reply.results()) {
    if (result.code() != 0) return StatusOfCode(result.code(), result.message());
  }
  const uint64_t bytes = step.place == nullptr ? frame.rows_size : reply.place_bytes();
  if (bytes != reply.token_count() * token_bytes_) return absl::InternalError("a frame of another size");
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const uint64_t at = step.sampled - reply.token_begin();
  if (step.sampled < reply.token_begin() || at >= reply.token_count()) return absl::OkStatus();
  ENGRAM_RETURN_IF_ERROR(Sample(step, frame, message, at));
  const int layer_index = input_.geometry().LayerIndex(reply.layer());
  if (layer_index < 0) return absl::InternalError(absl::StrCat("layer ", reply.layer(), " has no table"));
  return CheckToken(step, static_cast<size_t>(layer_index), sampled_);
}

absl::Status LoadStream::Sample(const Sent& step, const ServerFrame& frame, grpc::ByteBuffer& message, uint64_t at) {
  if (step.place != nullptr) {
    const v1::StepReply& reply = frame.message.reply();
    const uint64_t begin = reply.place_offset() - step.place->offset();
    if (begin > step.place->bytes() || reply.place_bytes() > step.place->bytes() - begin) {
      return absl::InternalError("rows in another place than the step's");
    }
    std::memcpy(sampled_.data(), step.place->data() + begin + at * token_bytes_, token_bytes_);
    return absl::OkStatus();
  }
  grpc::ProtoBufferReader reader(&message);
  if (!reader.Skip(static_cast<int>(frame.rows_offset + at * token_bytes_)) ||
      !CopyBytes(reader, reinterpret_cast<uint8_t*>(sampled_.data()), token_bytes_)) {
    return absl::InternalError("a frame shorter than it says");
  }
  return absl::OkStatus();
}

absl::Status LoadStream::CheckToken(const Sent& step, size_t layer_index, const std::vector<std::byte>& rows) {
  rows_checked_ += input_.geometry().columns();
  if (!plan_.echo) return check_.Token(layer_index, begin_, step.position + step.sampled, rows.data());
  const uint64_t offset = EchoOffset(layer_index, step.sampled, token_bytes_);
  for (uint64_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != EchoByte(offset + i)) return absl::DataLossError("the echo answered other bytes");
  }
  return absl::OkStatus();
}

}  // namespace engram
