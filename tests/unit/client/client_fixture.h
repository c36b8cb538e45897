// Scripts for tests of the client that reconnects.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/client.h"
#include "tests/unit/client/client_options.h"
#include "tests/unit/client/fake_service.h"

namespace engram {

// Where nobody listens.
inline constexpr char kNobody[] = "127.0.0.1:1";

inline std::unique_ptr<Client> ClientOf(ClientOptions options) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

inline TrackedStep EmptyStep() {
  TrackedStep step;
  step.request.add_segments();
  return step;
}

inline void Answer(FakeStream& stream, const v1::StepRequest& step, int code = 0, const std::string& message = "") {
  v1::StepReply frame;
  frame.set_step_id(step.step_id());
  if (code == 0) AddResults(step, frame);
  frame.set_last(true);
  frame.set_code(code);
  frame.set_message(message);
  Write(stream, frame);
}

inline grpc::Status AnswerAll(FakeStream& stream) {
  v1::ClientMessage message;
  while (stream.Read(&message)) {
    if (message.has_step()) Answer(stream, message.step());
  }
  return grpc::Status::OK;
}

inline grpc::Status NeverAnswer(FakeStream& stream) {
  ReadToEnd(stream);
  return grpc::Status::OK;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_CLIENT_FIXTURE_H_
