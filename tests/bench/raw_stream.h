// One call of Stream as bytes, for a client that adds as little as it can.

#ifndef ENGRAM_TESTS_BENCH_RAW_STREAM_H_
#define ENGRAM_TESTS_BENCH_RAW_STREAM_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// On a connection of its own. Every operation blocks, and polls the socket from the calling thread: no other thread has
// to be woken. One thread. Destroying it cancels the call.
class RawStream {
 public:
  // Says Hello and waits for the Welcome. UNAVAILABLE naming the address.
  static absl::StatusOr<std::unique_ptr<RawStream>> Open(const std::string& address);
  ~RawStream();

  // False once the call has ended.
  bool Write(const v1::ClientMessage& message);
  bool Read(grpc::ByteBuffer& message);

 private:
  explicit RawStream(const std::string& address);
  // Waits for the one operation under way.
  bool Next();

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_RAW_STREAM_H_
