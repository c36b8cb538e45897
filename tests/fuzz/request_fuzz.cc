// Fuzzes the server behind the wire: the bytes of two streams of ClientMessages, decoded, admitted, answered by a
// scheduler over a fake engine, under limits small enough to be met.
//
// An input is a row of events, each two bytes, little-endian: 3 bits what, 1 bit which stream, 12 bits a number; after
// that, for a message, so many bytes.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "server/service_context.h"
#include "server/stream_call.h"
#include "server/stream_registry.h"
#include "server/wire_scan.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_transport.h"
#include "tests/unit/server/fake_engine.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

constexpr uint64_t kFrameBytesMax = 1 << 14;
constexpr uint64_t kStepsMax = 5;
constexpr SessionLimits kSessions{.history_bytes_max = 12000, .tokens_max = 400, .sessions_max = 6};

const TinyServer& Tiny() {
  static const TinyServer tiny;
  return tiny;
}

v1::Model LimitedModel() {
  v1::Model model = TinyModel();
  v1::Limits& limits = *model.mutable_limits();
  limits.set_steps_in_flight_max(3);
  limits.set_bytes_in_flight_max(100000);
  limits.set_step_tokens_max(200);
  limits.set_frame_bytes_max(kFrameBytesMax);
  limits.set_session_tokens_max(kSessions.tokens_max);
  return model;
}

SchedulerOptions Options() {
  SchedulerOptions options;
  options.frames = {.frame_bytes_max = kFrameBytesMax, .round_bytes_max = 10000};
  options.unsent_bytes_max = 20000;
  options.decode_tokens_max = 4;
  options.table_version = 3;
  return options;
}

class RequestRun {
 public:
  RequestRun() {
    gate_.Open();
    for (Stream& stream : streams_) {
      stream.call = std::make_shared<StreamCall>(context_, registry_, stream.transport);
      ENGRAM_REQUIRE(registry_.Add(stream.call).ok(), "a stream may be opened");
      stream.transport.Read();
    }
  }

  void Event(FuzzInput& input) {
    const uint16_t head = input.Short();
    const uint16_t number = head & 0x0FFF;
    Stream& stream = streams_[head >> 12 & 1];
    switch (head >> 13) {
      case 4:
        RunRound(absl::Milliseconds(number));
        break;
      case 5:
        Written(stream, true);
        break;
      case 6:
        if (number % 2 == 0) Written(stream, false);
        if (number % 2 == 1 && !stream.transport.finished) stream.call->OnCancel();
        break;
      case 7:
        HalfClose(stream);
        break;
      default:
        Message(stream, input.Bytes(number));
    }
    ENGRAM_REQUIRE(sessions_.history_bytes() <= kSessions.history_bytes_max, "history keeps its bound");
    ENGRAM_REQUIRE(sessions_.sessions() <= kSessions.sessions_max, "sessions keep their bound");
    ENGRAM_REQUIRE(gate_.steps() <= static_cast<int64_t>(kStepsMax), "steps keep their bound");
  }

  // Both clients half-close and read what is left. Then nothing may be left.
  void End() {
    for (Stream& stream : streams_) HalfClose(stream);
    for (int i = 0; i < 1000 && !AllFinished(); ++i) {
      RunRound(absl::ZeroDuration());
      for (Stream& stream : streams_) Written(stream, true);
      for (Stream& stream : streams_) HalfClose(stream);  // where reading had paused
    }
    ENGRAM_REQUIRE(AllFinished(), "a half-closed stream comes to its end");
    for (Stream& stream : streams_) stream.call->OnDone();
    RunRound(absl::ZeroDuration());
    ENGRAM_REQUIRE(registry_.streams() == 0 && gate_.steps() == 0, "no stream and no step is left");
    for (const std::string& client : clients_) sessions_.ForgetClient(client);
    ENGRAM_REQUIRE(sessions_.sessions() == 0 && sessions_.history_bytes() == 0, "no session is left");
  }

 private:
  struct Stream {
    FuzzTransport transport{LimitedModel().limits()};
    std::shared_ptr<StreamCall> call;
  };

  void Message(Stream& stream, const std::string& bytes) {
    if (!stream.transport.reading) return;
    stream.transport.reading = false;
    v1::ClientMessage message;
    const bool parsed = message.ParseFromString(bytes);
    RequireScan(bytes, parsed ? &message : nullptr);
    if (parsed && message.has_hello()) clients_.insert(message.hello().client_id());
    if (parsed && message.has_step()) stream.transport.answers.Sent(message.step());
    stream.call->OnBytes([&bytes] { return Open(bytes); }, now_);
  }

  static std::unique_ptr<google::protobuf::io::ArrayInputStream> Open(const std::string& bytes) {
    return std::make_unique<google::protobuf::io::ArrayInputStream>(bytes.data(), static_cast<int>(bytes.size()));
  }

  // What is seen before decoding is what is there after it.
  static void RequireScan(const std::string& bytes, const v1::ClientMessage* message) {
    const WireScan scan = ScanClientMessage(*Open(bytes));
    if (message == nullptr || !scan.well_formed) return;
    ENGRAM_REQUIRE(scan.is_step == message->has_step(), "the kind of a message");
    ENGRAM_REQUIRE(scan.step_id == message->step().step_id(), "step_id");
    ENGRAM_REQUIRE(scan.segments == static_cast<uint64_t>(message->step().segments_size()), "segments");
  }

  static void HalfClose(Stream& stream) {
    if (!std::exchange(stream.transport.reading, false)) return;
    stream.call->OnHalfClose();
  }

  static void Written(Stream& stream, bool ok) {
    if (!stream.transport.writing.has_value()) return;
    stream.transport.writing.reset();
    stream.call->OnWritten(ok);
  }

  void RunRound(absl::Duration passed) {
    now_ += passed;
    const absl::StatusOr<size_t> frames = scheduler_.RunRound(engine_, now_);
    ENGRAM_REQUIRE(frames.ok(), frames.status().ToString());
  }

  bool AllFinished() const { return streams_[0].transport.finished && streams_[1].transport.finished; }

  const v1::Model model_ = LimitedModel();
  SessionStore sessions_{kSessions, 3};
  const Admission admission_{Tiny().geometry, Tiny().constants, model_, sessions_};
  StepGate gate_{kStepsMax, absl::UnavailableError("closed")};
  Scheduler scheduler_{Tiny().geometry, Tiny().constants, Options()};
  const ServiceContext context_{model_, admission_, sessions_, gate_, scheduler_, 2};
  StreamRegistry registry_{2};
  FakeEngine engine_{Tiny().geometry};
  std::array<Stream, 2> streams_;
  std::set<std::string> clients_;
  absl::Time now_ = absl::UnixEpoch();
};

}  // namespace
}  // namespace engram

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Protobuf writes a line for each string that is no UTF-8.
  static auto* const log_before = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(log_before);
  engram::FuzzInput input(data, size);
  engram::RequestRun run;
  while (!input.empty()) run.Event(input);
  run.End();
  return 0;
}
