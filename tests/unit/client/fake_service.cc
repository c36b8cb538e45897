#include "tests/unit/client/fake_service.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/model_geometry.h"
#include "tests/unit/client/loopback.h"

namespace engram {

v1::Model FakeModel() {
  Geometry geometry;
  geometry.layer_ids = {1, 14};
  geometry.rows = {1000, 1001};
  geometry.max_ngram_size = 3;
  geometry.heads = 1;
  geometry.head_dim = 32;
  geometry.vocab_size = 100;
  geometry.compressed_vocab_size = 90;
  v1::Model model;
  model.set_name("fake");
  model.set_model_digest(std::string(32, 'm'));
  *model.mutable_geometry() = ProtoOf(geometry);
  return model;
}

FakeServer::FakeServer(Script script) : script_(std::move(script)) {
  *welcome_.mutable_model() = FakeModel();
  welcome_.set_steps_in_flight_max(8);
  server_ = ServeOnLoopback(*this, address_);
}

FakeServer::~FakeServer() { server_->Shutdown(std::chrono::system_clock::now()); }

std::unique_ptr<Connection> FakeServer::Connect() {
  ConnectionOptions options;
  options.address = address_;
  absl::StatusOr<std::unique_ptr<Connection>> client = Connection::Connect(options);
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

grpc::Status FakeServer::Stream(grpc::ServerContext*, FakeStream* stream) {
  v1::ClientMessage message;
  if (!stream->Read(&message) || !message.has_hello()) return {grpc::StatusCode::INVALID_ARGUMENT, "no Hello"};
  hello_ = message.hello();
  if (!hello_.model_name().empty() && hello_.model_name() != welcome_.model().name()) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "model_name is another"};
  }
  v1::ServerMessage answer;
  *answer.mutable_welcome() = welcome_;
  stream->Write(answer);
  return script_(*stream);
}

grpc::Status FakeServer::GetModel(grpc::ServerContext*, const v1::GetModelRequest*, v1::Model* model) {
  *model = FakeModel();
  return grpc::Status::OK;
}

v1::StepRequest ReadStep(FakeStream& stream) {
  v1::ClientMessage message;
  EXPECT_TRUE(stream.Read(&message));
  EXPECT_TRUE(message.has_step()) << message.ShortDebugString();
  return message.step();
}

v1::StepReply RowsFrame(uint64_t step_id, uint32_t layer, uint64_t begin, uint64_t tokens, size_t token_bytes,
                        uint8_t fill) {
  v1::StepReply frame;
  frame.set_step_id(step_id);
  frame.set_layer(layer);
  frame.set_token_begin(begin);
  frame.set_token_count(tokens);
  for (uint64_t token = begin; token < begin + tokens; ++token) {
    frame.mutable_rows()->append(token_bytes, static_cast<char>(fill + token));
  }
  return frame;
}

void AddResults(const v1::StepRequest& step, v1::StepReply& frame) {
  for (const v1::Segment& segment : step.segments()) {
    v1::SegmentResult& result = *frame.add_results();
    result.set_session_id(segment.session_id());
    result.set_length(segment.start_pos() + static_cast<uint64_t>(segment.token_ids_size()));
  }
}

void Write(FakeStream& stream, const v1::StepReply& frame) {
  v1::ServerMessage message;
  *message.mutable_reply() = frame;
  stream.Write(message);
}

void WriteLast(FakeStream& stream, uint64_t step_id, int code, const std::string& message) {
  v1::StepReply last;
  last.set_step_id(step_id);
  last.set_last(true);
  last.set_code(code);
  last.set_message(message);
  Write(stream, last);
}

void ReadToEnd(FakeStream& stream) {
  v1::ClientMessage message;
  while (stream.Read(&message)) {
  }
}

}  // namespace engram
