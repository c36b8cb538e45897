// A server of streams without gRPC and without threads, under small bounds.

#ifndef ENGRAM_TESTS_UNIT_SERVER_STREAM_BOUNDS_H_
#define ENGRAM_TESTS_UNIT_SERVER_STREAM_BOUNDS_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/stream_call.h"
#include "server/stream_registry.h"
#include "tests/unit/server/fake_engine.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {

// The client's end. It reads when told to.
class Wire final : public StreamTransport {
 public:
  void Read() override { reading = true; }
  void Write(OutMessage message) override {
    const std::string payload(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
    EXPECT_TRUE(received.emplace_back().ParseFromString(message.head + payload));
    writing = true;
  }
  void Finish(const absl::Status& status) override { end = status; }

  bool reading = true;  // the first Read is its owner's
  bool writing = false;
  std::vector<v1::ServerMessage> received;
  std::optional<absl::Status> end;
};

class StreamBounds : public ::testing::Test {
 protected:
  static constexpr uint64_t kUnsentBytesMax = 100000;

  StreamBounds() { gate_.Open(); }

  static v1::Model Model() {
    v1::Model model = TinyModel();
    v1::Limits& limits = *model.mutable_limits();
    limits.set_segments_max(50);
    limits.set_step_tokens_max(1000);
    limits.set_steps_in_flight_max(1000);
    limits.set_bytes_in_flight_max(1 << 20);
    return model;
  }
  static SchedulerOptions Options() {
    SchedulerOptions options;
    options.frames = {.frame_bytes_max = 1 << 14, .round_bytes_max = 1 << 14};
    options.unsent_bytes_max = kUnsentBytesMax;
    return options;
  }

  static void Send(StreamCall& call, Wire& wire, const std::string& bytes) {
    ASSERT_TRUE(std::exchange(wire.reading, false));
    call.OnBytes(
        [&bytes] {
          return std::make_unique<google::protobuf::io::ArrayInputStream>(bytes.data(), static_cast<int>(bytes.size()));
        },
        absl::UnixEpoch());
  }
  static void Send(StreamCall& call, Wire& wire, const v1::ClientMessage& message) {
    Send(call, wire, message.SerializeAsString());
  }
  static void SendHello(StreamCall& call, Wire& wire) {
    v1::ClientMessage hello;
    hello.mutable_hello();
    Send(call, wire, hello);
  }
  // Of segments that go on with unknown sessions.
  static v1::ClientMessage RefusedSegments(uint64_t step_id, int segments) {
    v1::ClientMessage message;
    message.mutable_step()->set_step_id(step_id);
    for (int i = 0; i < segments; ++i) {
      v1::Segment& segment = *message.mutable_step()->add_segments();
      segment.set_session_id(static_cast<uint64_t>(i) + 1);
      segment.set_start_pos(9);
    }
    return message;
  }
  void Round() { ASSERT_TRUE(scheduler_.RunRound(engine_, absl::UnixEpoch()).ok()); }

  // Reads everything until nothing comes any more.
  void ReadAll(StreamCall& call, Wire& wire) {
    while (std::exchange(wire.writing, false)) {
      call.OnWritten(true);
      Round();
    }
  }

  const TinyServer tiny_{Model()};
  SessionStore sessions_{{}, 3};
  const Admission admission_{tiny_.geometry, tiny_.constants, tiny_.model, sessions_};
  StepGate gate_{10000, absl::UnavailableError("closed")};
  Scheduler scheduler_{tiny_.geometry, tiny_.constants, Options()};
  const ServiceContext context_{tiny_.model, admission_, sessions_, gate_, scheduler_, 2};
  FakeEngine engine_{tiny_.geometry};
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_STREAM_BOUNDS_H_
