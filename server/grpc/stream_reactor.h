// gRPC under one call of Stream.

#ifndef ENGRAM_SERVER_GRPC_STREAM_REACTOR_H_
#define ENGRAM_SERVER_GRPC_STREAM_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>
#include <utility>

#include "server/stream_call.h"

namespace engram {

// Hands gRPC's reactions to a StreamCall, which decides, and starts what it asks for. Life cycle: made, its call added
// to the registry, Start, given to gRPC, which calls OnDone last of all: it deletes itself there. Logs, at level debug,
// how it begins and ends.
class StreamReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>, public StreamTransport {
 public:
  // `peer`: who called, for the log.
  StreamReactor(const ServiceContext& context, StreamRegistry& registry, std::string peer)
      : call_(std::make_shared<StreamCall>(context, registry, *this)), peer_(std::move(peer)) {}

  const std::shared_ptr<StreamCall>& call() const { return call_; }
  void Start();

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { call_->OnCancel(); }
  void OnDone() override;

  void Read() override { StartRead(&read_buffer_); }
  void Write(OutMessage message) override;
  void Finish(const absl::Status& status) override;

  const std::shared_ptr<StreamCall> call_;
  const std::string peer_;
  grpc::ByteBuffer read_buffer_;   // of the read outstanding
  grpc::ByteBuffer write_buffer_;  // of the write outstanding
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_STREAM_REACTOR_H_
