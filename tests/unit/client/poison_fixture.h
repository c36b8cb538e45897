// A server that ends its stream at one step, and announces limits.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_POISON_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_POISON_FIXTURE_H_

#include <atomic>
#include <string>
#include <vector>

#include "tests/unit/client/client_fixture.h"

namespace engram {

inline constexpr uint32_t kPoison = 66;

// Masked tokens: an answer needs no rows.
inline TrackedStep StepOf(std::vector<uint32_t> tokens) {
  TrackedStep step;
  step.request.add_layers(1);
  step.request.set_omit_masked_rows(true);
  v1::Segment& segment = *step.request.add_segments();
  segment.mutable_token_ids()->Add(tokens.begin(), tokens.end());
  segment.set_token_mask(std::string(tokens.size(), '\0'));
  return step;
}

inline void SetLimits(FakeServer& server, uint64_t step_tokens_max, uint32_t segments_max) {
  v1::Welcome welcome;
  *welcome.mutable_model() = FakeModel();
  welcome.mutable_model()->mutable_limits()->set_step_tokens_max(step_tokens_max);
  welcome.mutable_model()->mutable_limits()->set_segments_max(segments_max);
  welcome.set_steps_in_flight_max(8);
  server.set_welcome(welcome);
}

inline void AnswerMasked(FakeStream& stream, const v1::StepRequest& step) {
  uint64_t tokens = 0;
  for (const v1::Segment& segment : step.segments()) tokens += static_cast<uint64_t>(segment.token_ids_size());
  v1::StepReply frame = RowsFrame(step.step_id(), 1, 0, tokens, 0);
  AddResults(step, frame);
  frame.set_last(true);
  Write(stream, frame);
}

// Answers, but ends the stream so at a step that holds the poison.
struct Reader {
  grpc::Status verdict;
  std::atomic<int> streams{0};

  grpc::Status Serve(FakeStream& stream) {
    ++streams;
    v1::ClientMessage message;
    while (stream.Read(&message)) {
      for (const v1::Segment& segment : message.step().segments()) {
        if (segment.token_ids_size() == 1 && segment.token_ids(0) == kPoison) return verdict;
      }
      AnswerMasked(stream, message.step());
    }
    return grpc::Status::OK;
  }
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_POISON_FIXTURE_H_
