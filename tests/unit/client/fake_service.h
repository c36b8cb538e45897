// A lookup service in this process whose Stream does what a test says.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_FAKE_SERVICE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_FAKE_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "client/connection.h"
#include "engram/v1/engram.grpc.pb.h"

namespace engram {

using FakeStream = grpc::ServerReaderWriter<v1::ServerMessage, v1::ClientMessage>;

// Geometry of the fakes: layers 1 and 14, K = 2 columns, D = 32: 33 packed bytes a row, 64 in bf16.
v1::Model FakeModel();

// Reads Hello and answers Welcome, then runs `script`, whose status ends the stream. Listens on a free port of
// 127.0.0.1 until it is destroyed.
class FakeServer : public v1::EngramLookup::Service {
 public:
  using Script = std::function<grpc::Status(FakeStream& stream)>;

  explicit FakeServer(Script script);
  ~FakeServer() override;

  const std::string& address() const { return address_; }
  const v1::Hello& hello() const { return hello_; }
  void set_welcome(const v1::Welcome& welcome) { welcome_ = welcome; }
  // A client of this server; connecting must succeed.
  std::unique_ptr<Connection> Connect();

 private:
  grpc::Status Stream(grpc::ServerContext* context, FakeStream* stream) override;
  grpc::Status GetModel(grpc::ServerContext* context, const v1::GetModelRequest* request, v1::Model* model) override;

  Script script_;
  v1::Welcome welcome_;
  v1::Hello hello_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// The next step the client sends; fails the test when something else comes.
v1::StepRequest ReadStep(FakeStream& stream);

// A frame of `tokens` tokens from `begin`, every byte of token t's rows being `fill + t`.
v1::StepReply RowsFrame(uint64_t step_id, uint32_t layer, uint64_t begin, uint64_t tokens, size_t token_bytes,
                        uint8_t fill = 0);
// One accepted result for each segment of the request.
void AddResults(const v1::StepRequest& step, v1::StepReply& frame);
void Write(FakeStream& stream, const v1::StepReply& frame);
// The step's last frame.
void WriteLast(FakeStream& stream, uint64_t step_id, int code = 0, const std::string& message = "");

// Keeps reading until the client leaves.
void ReadToEnd(FakeStream& stream);

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_FAKE_SERVICE_H_
