#include "tests/unit/client/plain_service.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/model_geometry.h"
#include "tests/unit/client/loopback.h"
#include "tests/unit/client/plain_inbox.h"

namespace engram {
namespace {

constexpr int kCancelled = 1;

}  // namespace

PlainService::PlainService(const Oracle& oracle, PlainFaults faults) : oracle_(oracle), faults_(faults) {
  server_ = ServeOnLoopback(*this, address_);
}

PlainService::~PlainService() { server_->Shutdown(std::chrono::system_clock::now()); }

ServerUnderTest PlainService::Description() const {
  return {address_, MakeWelcome().model(), {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}};
}

std::unique_ptr<Connection> PlainService::Connect() const {
  ConnectionOptions options;
  options.address = address_;
  absl::StatusOr<std::unique_ptr<Connection>> client = Connection::Connect(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

uint64_t PlainService::cancelled() const {
  MutexLock lock(mu_);
  return cancelled_;
}

size_t PlainService::sessions() const {
  MutexLock lock(mu_);
  return sessions_.size();
}

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

std::string PlainService::NameOf(const v1::Hello& hello) {
  MutexLock lock(mu_);
  return hello.client_id().empty() ? absl::StrCat("private ", ++private_clients_) : hello.client_id();
}

grpc::Status PlainService::GetModel(grpc::ServerContext*, const v1::GetModelRequest*, v1::Model* model) {
  *model = MakeWelcome().model();
  return grpc::Status::OK;
}

grpc::Status PlainService::Stream(grpc::ServerContext*, FakeStream* stream) {
  v1::ClientMessage message;
  if (!stream->Read(&message) || !message.has_hello()) return {grpc::StatusCode::INVALID_ARGUMENT, "no Hello"};
  const std::string client = NameOf(message.hello());
  absl::SleepFor(faults_.welcome_delay);
  v1::ServerMessage answer;
  *answer.mutable_welcome() = MakeWelcome();
  stream->Write(answer);
  Inbox inbox(*stream);
  v1::StepRequest step;
  bool cancelled = false;
  while (inbox.Next(step, cancelled)) Answer(client, step, cancelled, *stream);
  return grpc::Status::OK;
}

void PlainService::Answer(const std::string& client, const v1::StepRequest& step, bool cancelled, FakeStream& stream) {
  MutexLock lock(mu_);
  if (cancelled && faults_.forget_cancelled) return WriteLast(stream, step.step_id(), kCancelled);
  v1::StepReply first;
  first.set_step_id(step.step_id());
  const std::vector<Window> windows = ApplyAll(client, step, first);
  for (const uint64_t session_id : step.close_sessions()) sessions_.erase({client, session_id});
  Write(stream, first);
  if (cancelled && !faults_.flip_cancelled) {
    ++cancelled_;
    return WriteLast(stream, step.step_id(), kCancelled);
  }
  flip_next_ = cancelled;
  std::vector<uint32_t> layers(step.layers().begin(), step.layers().end());
  if (layers.empty()) layers = oracle_.geometry().layer_ids;
  std::sort(layers.begin(), layers.end());
  for (const uint32_t layer : layers) SendLayer(step, layer, windows, stream);
  flip_next_ = false;
  WriteLast(stream, step.step_id());
}

std::vector<PlainService::Window> PlainService::ApplyAll(const std::string& client, const v1::StepRequest& step,
                                                         v1::StepReply& first) {
  std::vector<Window> windows;
  for (const v1::Segment& segment : step.segments()) {
    Window window;
    const absl::Status status = Apply(client, segment, window);
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
  return windows;
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
absl::StatusOr<PlainService::Session> PlainService::Before(const std::string& client, const v1::Segment& segment) {
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
    const v1::ForkFrom& fork = segment.fork_from();
    Key key(client, segment.session_id());
    if (segment.has_fork_from()) key = {fork.client_id().empty() ? client : fork.client_id(), fork.session_id()};
    const auto found = sessions_.find(key);
    if (found != sessions_.end()) session = found->second;
  }
  const uint64_t lookback = std::min<uint64_t>(start, oracle_.geometry().max_ngram_size - 1);
  if (session.length() < start || session.begin > start - lookback) return absl::FailedPreconditionError("gap");
  if (!faults_.forget_rewinds || session.length() - start > 5) session.ids.resize(start - session.begin);
  return session;
}

absl::Status PlainService::Apply(const std::string& client, const v1::Segment& segment, Window& window) {
  const auto ids = Compressed(segment.token_ids(), segment.token_mask());
  if (!ids.ok()) return ids.status();
  absl::StatusOr<Session> session = Before(client, segment);
  if (!session.ok()) return session.status();
  window.start_pos = segment.start_pos();
  window.lookback = std::min<size_t>(segment.start_pos(), oracle_.geometry().max_ngram_size - 1);
  window.ids.assign(session->ids.end() - static_cast<std::ptrdiff_t>(window.lookback), session->ids.end());
  window.ids.insert(window.ids.end(), ids->begin(), ids->end());
  session->ids.insert(session->ids.end(), ids->begin(), ids->end());
  if (segment.session_id() != 0) sessions_[{client, segment.session_id()}] = *std::move(session);
  return absl::OkStatus();
}

}  // namespace engram
