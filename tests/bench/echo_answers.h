// What the echo answers: as many frames of as many bytes as engram-server sends, cut from one buffer.

#ifndef ENGRAM_TESTS_BENCH_ECHO_ANSWERS_H_
#define ENGRAM_TESTS_BENCH_ECHO_ANSWERS_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <deque>
#include <vector>

#include "engram/v1/engram.pb.h"
#include "model/geometry.h"
#include "server/frame_plan.h"
#include "server/step.h"

namespace engram {

// may_wait: as in OutMessage.
struct EchoMessage {
  grpc::ByteBuffer bytes;
  bool may_wait = false;
};

class Echo {
 public:
  explicit Echo(const Geometry& geometry);

  // The messages that answer a step of at most kEchoTokensMax tokens.
  void Answer(const v1::StepRequest& request, std::deque<EchoMessage>& messages) const;

 private:
  Step StepOf(const v1::StepRequest& request) const;
  grpc::ByteBuffer MessageOf(const Step& step, const Frame& frame) const;

  const Geometry geometry_;
  std::vector<std::byte> rows_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_ECHO_ANSWERS_H_
