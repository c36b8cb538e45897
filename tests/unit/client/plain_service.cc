#include "tests/unit/client/plain_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/status/statusor.h"
#include "client/model_geometry.h"

namespace engram {
namespace {

constexpr size_t kFrameTokens = 7;  // small: most steps come in several frames

}  // namespace

v1::Welcome PlainService::MakeWelcome() const {
  v1::Welcome welcome;
  v1::Model& model = *welcome.mutable_model();
  *model.mutable_geometry() = ProtoOf(oracle_.geometry());
  model.set_constants_digest(oracle_.checkpoint().constants_digest);
  model.set_model_digest(oracle_.checkpoint().model_digest);
  model.add_formats(v1::ROW_FORMAT_PACKED);
  model.add_formats(v1::ROW_FORMAT_BF16);
  model.add_formats(v1::ROW_FORMAT_HASH_IDS);
  model.add_capabilities("fork");
  welcome.set_steps_in_flight_max(16);
  return welcome;
}

grpc::Status PlainService::Serve(FakeStream& stream) {
  v1::ClientMessage message;
  while (stream.Read(&message)) Answer(message.step(), stream);
  return grpc::Status::OK;
}

void PlainService::Answer(const v1::StepRequest& step, FakeStream& stream) {
  std::vector<Window> windows;
  v1::StepReply first;
  first.set_step_id(step.step_id());
  for (const v1::Segment& segment : step.segments()) {
    Window window;
    const absl::Status status = Apply(segment, window);
    v1::SegmentResult& result = *first.add_results();
    result.set_session_id(segment.session_id());
    result.set_code(static_cast<int>(status.code()));
    result.set_message(std::string(status.message()));
    if (status.ok()) {
      result.set_length(segment.start_pos() + static_cast<uint64_t>(segment.token_ids_size()));
      if (step.return_states()) {
        const size_t before = std::min<size_t>(result.length(), oracle_.geometry().max_ngram_size - 1);
        result.mutable_state()->set_position(result.length());
        result.mutable_state()->set_constants_digest(oracle_.checkpoint().constants_digest);
        for (size_t i = window.ids.size() - before; i < window.ids.size(); ++i) {
          result.mutable_state()->add_compressed_ids(window.ids[i]);
        }
      }
    }
    windows.push_back(std::move(window));
  }
  for (const uint64_t session_id : step.close_sessions()) sessions_.erase(session_id);
  Write(stream, first);
  std::vector<uint32_t> layers(step.layers().begin(), step.layers().end());
  if (layers.empty()) layers = oracle_.geometry().layer_ids;
  std::sort(layers.begin(), layers.end());
  for (const uint32_t layer : layers) SendLayer(step, layer, windows, stream);
  WriteLast(stream, step.step_id());
}

absl::StatusOr<std::vector<int32_t>> PlainService::Compressed(const google::protobuf::RepeatedField<uint32_t>& tokens,
                                                              const std::string& mask) const {
  if (!mask.empty() && mask.size() != static_cast<size_t>(tokens.size())) {
    return absl::InvalidArgumentError("mask length");
  }
  std::vector<int32_t> ids;
  for (int i = 0; i < tokens.size(); ++i) {
    const bool masked = !mask.empty() && mask[static_cast<size_t>(i)] == 0;
    if (!masked && tokens[i] >= oracle_.geometry().vocab_size) return absl::InvalidArgumentError("token");
    ids.push_back(masked ? kDead : oracle_.constants().token_map[tokens[i]]);
  }
  return ids;
}

// The session as the segment finds it, or as its seed makes it; what stands at start_pos and behind is cut off.
absl::StatusOr<PlainService::Session> PlainService::Before(const v1::Segment& segment) {
  const uint64_t start = segment.start_pos();
  Session session;
  if (segment.has_lookback()) {
    const auto ids = Compressed(segment.lookback().token_ids(), segment.lookback().token_mask());
    if (!ids.ok()) return ids.status();
    session = {start - ids->size(), *ids};
  } else if (segment.has_state()) {
    const v1::HashState& state = segment.state();
    if (state.constants_digest() != oracle_.checkpoint().constants_digest) {
      return absl::FailedPreconditionError("digest");
    }
    session.ids.assign(state.compressed_ids().begin(), state.compressed_ids().end());
    session.begin = start - session.ids.size();
  } else {
    session = sessions_[segment.has_fork_from() ? segment.fork_from().session_id() : segment.session_id()];
  }
  const uint64_t lookback = std::min<uint64_t>(start, oracle_.geometry().max_ngram_size - 1);
  if (session.length() < start || session.begin > start - lookback) return absl::FailedPreconditionError("gap");
  if (!faults_.forget_rewinds || session.length() - start > 5) session.ids.resize(start - session.begin);
  return session;
}

absl::Status PlainService::Apply(const v1::Segment& segment, Window& window) {
  const auto ids = Compressed(segment.token_ids(), segment.token_mask());
  if (!ids.ok()) return ids.status();
  absl::StatusOr<Session> session = Before(segment);
  if (!session.ok()) return session.status();
  window.start_pos = segment.start_pos();
  window.lookback = std::min<size_t>(segment.start_pos(), oracle_.geometry().max_ngram_size - 1);
  window.ids.assign(session->ids.end() - static_cast<std::ptrdiff_t>(window.lookback), session->ids.end());
  window.ids.insert(window.ids.end(), ids->begin(), ids->end());
  session->ids.insert(session->ids.end(), ids->begin(), ids->end());
  if (segment.session_id() != 0) sessions_[segment.session_id()] = *std::move(session);
  return absl::OkStatus();
}

void PlainService::SendLayer(const v1::StepRequest& step, uint32_t layer, const std::vector<Window>& windows,
                             FakeStream& stream) {
  const auto layer_index = static_cast<size_t>(oracle_.geometry().LayerIndex(layer));
  uint64_t token = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& window = windows[i];
    const auto tokens = static_cast<size_t>(step.segments(static_cast<int>(i)).token_ids_size());
    const bool refused = window.ids.size() != window.lookback + tokens;
    for (size_t begin = 0; begin < tokens && !refused; begin += kFrameTokens) {
      v1::StepReply frame;
      frame.set_step_id(step.step_id());
      frame.set_layer(layer);
      frame.set_token_begin(token + begin);
      frame.set_token_count(std::min(kFrameTokens, tokens - begin));
      for (size_t t = begin; t < begin + frame.token_count(); ++t) AppendToken(step, layer_index, window, t, frame);
      Write(stream, frame);
    }
    token += tokens;
  }
}

void PlainService::AppendToken(const v1::StepRequest& step, size_t layer_index, const Window& window, size_t index,
                               v1::StepReply& frame) {
  const size_t at = window.lookback + index;
  if (step.omit_masked_rows() && window.ids[at] == kDead) return;
  const std::vector<uint64_t> rows =
      PlainRowIds(oracle_.geometry(), oracle_.constants(), layer_index, window.ids, at, window.start_pos + index);
  for (const uint64_t row : rows) {
    const bool flip = ++rows_sent_ == faults_.flip_row;
    if (step.format() == v1::ROW_FORMAT_HASH_IDS) {
      frame.add_hash_ids(flip ? row ^ 1 : row);
      continue;
    }
    std::string bytes = RowOf(step.format(), layer_index, row);
    if (flip) bytes[5] = static_cast<char>(bytes[5] ^ 0x10);
    frame.mutable_rows()->append(bytes);
  }
}

std::string PlainService::RowOf(v1::RowFormat format, size_t layer_index, uint64_t row) {
  const Geometry& geometry = oracle_.geometry();
  std::string packed(geometry.packed_row_bytes(), '\0');
  auto* bytes = reinterpret_cast<uint8_t*>(packed.data());
  EXPECT_TRUE(oracle_.ReadPacked(layer_index, row, absl::MakeSpan(bytes, packed.size())).ok());
  if (format == v1::ROW_FORMAT_PACKED) return packed;
  std::vector<uint16_t> values(geometry.head_dim);
  oracle_.Dequantize(absl::MakeConstSpan(bytes, packed.size()), absl::MakeSpan(values));
  for (uint16_t& value : values) {
    if (faults_.lose_minus_zero && value == 0x8000) value = 0;
  }
  return std::string(reinterpret_cast<const char*>(values.data()), 2 * values.size());
}

}  // namespace engram
