// echo_server --config CONFIG.json --port-file FILE: the Stream call of engram.v1.EngramLookup without anything behind
// it. Requests are read and decoded and answered with as many frames of as many bytes as engram-server sends, cut from
// one buffer: what the transport alone costs. Serves until it is killed.

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>
#include <numeric>
#include <vector>

#include "echo_rows.h"
#include "engram/v1/engram.grpc.pb.h"
#include "model/files/checkpoint.h"
#include "model/mutex.h"
#include "server/frame_plan.h"
#include "server/reply_frame.h"

namespace engram {
namespace {

// engram-server's defaults (config.proto).
constexpr FrameLimits kLimits{.frame_bytes_max = 1 << 20, .round_bytes_max = 4 << 20};

class Echo {
 public:
  explicit Echo(const Geometry& geometry)
      : geometry_(geometry), rows_(geometry.layers() * kEchoTokensMax * TokenBytes(geometry, v1::ROW_FORMAT_PACKED)) {
    for (uint64_t i = 0; i < rows_.size(); ++i) rows_[i] = EchoByte(i);
  }

  // The messages that answer a step of at most kEchoTokensMax tokens.
  void Answer(const v1::StepRequest& request, std::deque<grpc::ByteBuffer>& messages) const {
    const Step step = StepOf(request);
    for (FramePlan plan(step, geometry_, kLimits); plan.Peek() != nullptr; plan.Pop()) {
      messages.push_back(MessageOf(step, *plan.Peek()));
    }
  }

 private:
  Step StepOf(const v1::StepRequest& request) const {
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

  grpc::ByteBuffer MessageOf(const Step& step, const Frame& frame) const {
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

  // As EncodeUpToPayload, for a payload that nobody leased.
  static std::string EncodeUpToRows(const v1::StepReply& head, uint64_t row_bytes) {
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

  const Geometry geometry_;
  std::vector<std::byte> rows_;
};

// Reads and writes as StreamReactor does, but answers where it reads. Deletes itself.
class EchoStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit EchoStream(const Echo& echo) : echo_(echo) { StartRead(&incoming_); }

 private:
  void OnReadDone(bool ok) override {
    v1::ClientMessage message;
    if (ok) {
      grpc::ProtoBufferReader reader(&incoming_);
      ok = message.ParseFromZeroCopyStream(&reader);
    }
    MutexLock lock(mu_);
    if (!ok) {
      half_closed_ = true;
      FinishIfIdle();
      return;
    }
    Take(message);
    StartRead(&incoming_);
  }

  void Take(const v1::ClientMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const bool idle = outgoing_.empty();
    if (message.has_step()) {
      echo_.Answer(message.step(), outgoing_);
    } else {
      v1::ServerMessage welcome;
      welcome.mutable_welcome();
      const grpc::Slice slice(welcome.SerializeAsString());
      outgoing_.emplace_back(&slice, 1);
    }
    if (idle && !outgoing_.empty()) StartWrite(&outgoing_.front());
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mu_);
    outgoing_.pop_front();
    if (!ok) outgoing_.clear();
    if (!outgoing_.empty()) StartWrite(&outgoing_.front());
    FinishIfIdle();
  }

  void FinishIfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (half_closed_ && outgoing_.empty() && !finished_) {
      finished_ = true;
      Finish(grpc::Status::OK);
    }
  }

  void OnDone() override { delete this; }

  const Echo& echo_;
  grpc::ByteBuffer incoming_;
  Mutex mu_;
  std::deque<grpc::ByteBuffer> outgoing_ ABSL_GUARDED_BY(mu_);  // the first is being written
  bool half_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

class EchoService final : public v1::EngramLookup::WithRawCallbackMethod_Stream<v1::EngramLookup::Service> {
 public:
  explicit EchoService(const Geometry& geometry) : echo_(geometry) {}
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext*) override {
    return new EchoStream(echo_);
  }

 private:
  const Echo echo_;
};

int Serve(const std::string& config, const std::string& port_file) {
  const absl::StatusOr<EngramConfig> model = ReadEngramConfig(config);
  if (!model.ok()) {
    std::fprintf(stderr, "echo_server: %s\n", std::string(model.status().message()).c_str());
    return 1;
  }
  EchoService service(model->geometry);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return 1;
  std::ofstream(port_file) << "127.0.0.1:" << port << "\n";
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  CLI::App app{"The Stream call with nothing behind it"};
  std::string config;
  std::string port_file;
  app.add_option("--config", config, "config.json of the checkpoint that engram-server serves")->required();
  app.add_option("--port-file", port_file, "Gets HOST:PORT and a newline")->required();
  CLI11_PARSE(app, argc, argv);
  return engram::Serve(config, port_file);
}
