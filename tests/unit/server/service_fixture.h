// The service on a real socket, around a golden checkpoint: assembled as the front end does, engine thread included.

#ifndef ENGRAM_TESTS_UNIT_SERVER_SERVICE_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_SERVER_SERVICE_FIXTURE_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engram/v1/engram.grpc.pb.h"
#include "model/files/checkpoint.h"
#include "model/files/table_reader.h"
#include "model/ngram_hash.h"
#include "model/number_formats.h"
#include "server/config.h"
#include "server/describe_model.h"
#include "server/engine_loop.h"
#include "server/grpc/grpc_server.h"

namespace engram {

inline Checkpoint OpenTiny() {
  const std::string golden = std::string(ENGRAM_SOURCE_DIR) + "/tests/golden/data/tiny";
  absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(golden + "_checkpoint", golden + "_constants.gguf");
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
  return *std::move(checkpoint);
}

// Listens at once and refuses steps as loading; Serve starts the ranks and opens the gate.
class TestServer {
 public:
  explicit TestServer(const std::vector<std::string>& overrides = {}, const std::string& address = "127.0.0.1:0")
      : config_(ConfigWith(overrides)) {
    absl::StatusOr<std::unique_ptr<GrpcServer>> started = GrpcServer::Start(address, Context());
    EXPECT_TRUE(started.ok()) << started.status();
    grpc_ = *std::move(started);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", grpc_->port()), grpc::InsecureChannelCredentials());
    stub_ = v1::EngramLookup::NewStub(channel_);
  }
  ~TestServer() {
    if (!engine_.joinable()) return;
    grpc_->Shutdown(absl::Seconds(5));
    stop_ = true;
    scheduler_.Wake();
    engine_.join();
  }

  void Serve() {
    OpenGate();
    engine_ = std::thread([this] { RunEngine(); });
    grpc_->SetServing(true);
  }
  void OpenGate() { gate_.Open(); }
  absl::Status StartAnotherOnTheSamePort() {
    return GrpcServer::Start(absl::StrCat("127.0.0.1:", grpc_->port()), Context()).status();
  }

  GrpcServer& grpc() { return *grpc_; }
  StepGate& gate() { return gate_; }
  const v1::Model& model() const { return model_; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1::EngramLookup::Stub& stub() { return *stub_; }
  SessionStore& sessions() { return sessions_; }

  // The rows of consecutive positions from 0, layer after layer: hashed in one go, read plainly.
  std::string ExpectedRows(const std::vector<uint32_t>& tokens, v1::RowFormat format) const {
    const Geometry& geometry = checkpoint_.geometry;
    const NgramHasher hasher(geometry, checkpoint_.constants);
    std::vector<int32_t> window;
    for (const uint32_t token : tokens) window.push_back(checkpoint_.constants.token_map[token]);
    std::string bytes;
    for (size_t layer = 0; layer < geometry.layers(); ++layer) {
      std::vector<uint64_t> ids(window.size() * geometry.columns());
      hasher.Hash(layer, window, 0, absl::MakeSpan(ids));
      const absl::StatusOr<TableReader> reader = TableReader::Open(checkpoint_.tables[layer]);
      EXPECT_TRUE(reader.ok()) << reader.status();
      for (const uint64_t id : ids) AppendRow(*reader, id, format, bytes);
    }
    return bytes;
  }

 private:
  static v1::ServerConfig ConfigWith(const std::vector<std::string>& overrides) {
    v1::ServerConfig config;
    for (const std::string& assignment : overrides) EXPECT_TRUE(SetByPath(config, assignment).ok()) << assignment;
    FillDefaults(config);
    EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
    return config;
  }

  ServiceContext Context() {
    return {model_,
            admission_,
            sessions_,
            gate_,
            scheduler_,
            config_.streams().streams_max(),
            absl::Milliseconds(config_.streams().hello_timeout_ms()),
            SegmentRulesOf(config_)};
  }

  SchedulerOptions Options() const {
    SchedulerOptions options;
    options.frames = {config_.streams().frame_bytes_max(), config_.scheduling().round_bytes_max()};
    options.unsent_bytes_max = config_.streams().unsent_bytes_max();
    options.decode_tokens_max = config_.scheduling().decode_tokens_max();
    return options;
  }

  void RunEngine() {
    absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(2);
    ASSERT_TRUE(job.ok()) << job.status();
    absl::StatusOr<std::unique_ptr<Engine>> engine =
        (*job)->Start(checkpoint_, EngineOptionsOf(config_, checkpoint_.geometry));
    ASSERT_TRUE(engine.ok()) << engine.status();
    EXPECT_TRUE(RunEngineLoop(scheduler_, **engine, absl::Seconds(1), stop_).ok());
    EXPECT_TRUE((*engine)->Stop().ok());
  }

  void AppendRow(const TableReader& reader, uint64_t id, v1::RowFormat format, std::string& bytes) const {
    if (format == v1::ROW_FORMAT_HASH_IDS) {
      bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
      return;
    }
    std::vector<uint8_t> codes(checkpoint_.geometry.head_dim);
    std::vector<uint8_t> scales(checkpoint_.geometry.scales());
    EXPECT_TRUE(reader.ReadRow(id, absl::MakeSpan(codes), absl::MakeSpan(scales)).ok());
    if (format == v1::ROW_FORMAT_PACKED) {
      bytes.append(codes.begin(), codes.end()).append(scales.begin(), scales.end());
      return;
    }
    std::vector<uint16_t> values(codes.size());
    DequantizeRow(codes, scales, absl::MakeSpan(values));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint16_t));
  }

  const v1::ServerConfig config_;
  const Checkpoint checkpoint_ = OpenTiny();
  const v1::Model model_ = DescribeModel(checkpoint_, config_, 2);
  SessionStore sessions_{SessionLimitsOf(config_), checkpoint_.geometry.max_ngram_size - 1};
  const Admission admission_{checkpoint_.geometry, checkpoint_.constants, model_, sessions_};
  StepGate gate_{config_.scheduling().queue_steps_max(), absl::UnavailableError("loading 42%")};
  Scheduler scheduler_{checkpoint_.geometry, checkpoint_.constants, Options()};
  std::unique_ptr<GrpcServer> grpc_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::EngramLookup::Stub> stub_;
  std::atomic<bool> stop_{false};
  std::thread engine_;
};

// One stream as a client sees it. Everything is bounded in time.
class TestStream {
 public:
  explicit TestStream(TestServer& server) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_ = server.stub().Stream(&context_);
  }

  bool Hello(const std::string& client_id = "") {
    v1::ClientMessage message;
    message.mutable_hello()->set_client_id(client_id);
    return Send(message);
  }
  bool Send(const v1::ClientMessage& message) { return stream_->Write(message); }
  bool Step(uint64_t step_id, const std::vector<uint32_t>& tokens, v1::RowFormat format = v1::ROW_FORMAT_PACKED,
            uint32_t timeout_ms = 0) {
    v1::ClientMessage message;
    v1::StepRequest& step = *message.mutable_step();
    step.set_step_id(step_id);
    step.set_format(format);
    step.set_timeout_ms(timeout_ms);
    v1::Segment& segment = *step.add_segments();
    for (const uint32_t token : tokens) segment.add_token_ids(token);
    return Send(message);
  }
  bool Cancel(uint64_t step_id) {
    v1::ClientMessage message;
    message.mutable_cancel()->set_step_id(step_id);
    return Send(message);
  }

  // The next message, or an empty one when the stream has ended.
  v1::ServerMessage Next() {
    v1::ServerMessage message;
    if (!stream_->Read(&message)) message.Clear();
    return message;
  }
  // The frames of the step whose last frame comes next; frames of others on the way are kept for later calls.
  std::vector<v1::StepReply> FramesOf(uint64_t step_id) {
    std::vector<v1::StepReply>& frames = frames_[step_id];
    while (frames.empty() || !frames.back().last()) {
      const v1::ServerMessage message = Next();
      if (message.kind_case() == v1::ServerMessage::KIND_NOT_SET) break;
      if (message.has_reply()) frames_[message.reply().step_id()].push_back(message.reply());
    }
    return frames;
  }

  void HalfClose() { stream_->WritesDone(); }
  void TryCancel() { context_.TryCancel(); }
  // Reads to the end.
  grpc::Status Finish() {
    while (Next().kind_case() != v1::ServerMessage::KIND_NOT_SET) {
    }
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>> stream_;
  std::map<uint64_t, std::vector<v1::StepReply>> frames_;
};

inline std::string PayloadOf(const std::vector<v1::StepReply>& frames) {
  std::string bytes;
  for (const v1::StepReply& frame : frames) {
    bytes += frame.rows();
    for (const uint64_t id : frame.hash_ids()) bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
  }
  return bytes;
}

inline std::vector<uint32_t> SomeTokens(const TestServer& server, size_t count) {
  std::vector<uint32_t> tokens;
  uint64_t state = 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tokens.push_back(static_cast<uint32_t>((state >> 33) % server.checkpoint().geometry.vocab_size));
  }
  return tokens;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_SERVICE_FIXTURE_H_
