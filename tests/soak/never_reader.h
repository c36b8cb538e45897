// A client that sends and never reads.

#ifndef ENGRAM_TESTS_SOAK_NEVER_READER_H_
#define ENGRAM_TESTS_SOAK_NEVER_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "soak_client.h"

namespace engram {

// Segments that go on with sessions nobody knows: results without rows.
inline v1::ClientMessage RefusedStepOf(uint64_t step_id, int segments) {
  v1::ClientMessage message;
  message.mutable_step()->set_step_id(step_id);
  for (int i = 1; i <= segments; ++i) {
    v1::Segment& segment = *message.mutable_step()->add_segments();
    segment.set_session_id(static_cast<uint64_t>(i));
    segment.set_start_pos(1);
  }
  return message;
}

// A stream that asks for as much as Welcome would let it and reads nothing, while it lives. It writes on a thread of
// its own, since the server stops reading.
class NeverReader {
 public:
  // `refused_segments`: of each step; 0: it asks for the rows of `tokens` tokens.
  NeverReader(const std::string& server, const v1::Model& model, uint32_t tokens, int refused_segments)
      : stub_(v1::EngramLookup::NewStub(OpenSoakChannel(server))),
        stream_(stub_->Stream(&context_)),
        thread_([this, &model, tokens, refused_segments] { Write(model, tokens, refused_segments); }) {}
  ~NeverReader() {
    context_.TryCancel();
    thread_.join();
    stream_->Finish();
  }

 private:
  void Write(const v1::Model& model, uint32_t tokens, int refused_segments) {
    bool written = stream_->Write(HelloOf(""));
    for (uint64_t step_id = 1; written && step_id <= model.limits().steps_in_flight_max(); ++step_id) {
      written =
          stream_->Write(refused_segments > 0 ? RefusedStepOf(step_id, refused_segments)
                                              : StepOf(step_id, step_id, 0, tokens, model.geometry().vocab_size()));
    }
  }

  const std::unique_ptr<v1::EngramLookup::Stub> stub_;
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>> stream_;
  std::thread thread_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SOAK_NEVER_READER_H_
