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

#include "echo_answers.h"
#include "engram/v1/engram.grpc.pb.h"
#include "model/files/checkpoint.h"
#include "model/mutex.h"

namespace engram {
namespace {

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
      outgoing_.push_back({grpc::ByteBuffer(&slice, 1), false});
    }
    if (idle && !outgoing_.empty()) WriteNext();
  }

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    grpc::WriteOptions options;
    if (outgoing_.front().may_wait) options.set_buffer_hint();
    StartWrite(&outgoing_.front().bytes, options);
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mu_);
    outgoing_.pop_front();
    if (!ok) outgoing_.clear();
    if (!outgoing_.empty()) WriteNext();
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
  std::deque<EchoMessage> outgoing_ ABSL_GUARDED_BY(mu_);  // the first is being written
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
