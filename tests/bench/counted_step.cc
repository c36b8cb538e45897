// One-token steps from the bytes of a request to the bytes of its answer, with everything of the server's own but gRPC
// and the shard.

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "absl/time/clock.h"
#include "counted_paths.h"
#include "model/check.h"
#include "server/config.h"
#include "server/describe_model.h"
#include "server/service_context.h"
#include "server/stream_call.h"
#include "server/stream_registry.h"

namespace engram {
namespace {

constexpr uint64_t kSteps = 512;

// Rows are nobody's business here.
class NoRows final : public Engine {
 public:
  absl::Status Gather(absl::Span<const RowBlock>) override { return absl::OkStatus(); }
  absl::Status Heartbeat() override { return absl::OkStatus(); }
  absl::Status Stop() override { return absl::OkStatus(); }
};

// A wire that takes everything at once.
class Wire final : public StreamTransport {
 public:
  void Read() override {}
  void Write(OutMessage message) override { written = std::move(message); }
  void Finish(const absl::Status&) override {}

  OutMessage written;
};

v1::ServerConfig DefaultConfig() {
  v1::ServerConfig config;
  FillDefaults(config);
  return config;
}

SchedulerOptions OptionsOf(const v1::ServerConfig& config) {
  SchedulerOptions options;
  options.frames = {config.streams().frame_bytes_max(), config.scheduling().round_bytes_max()};
  options.unsent_bytes_max = config.streams().unsent_bytes_max();
  options.decode_tokens_max = config.scheduling().decode_tokens_max();
  return options;
}

class StepPath final : public CountedPath {
 public:
  StepPath() {
    gate_.Open();
    ENGRAM_CHECK(registry_.Add(call_).ok());
    v1::ClientMessage hello;
    hello.mutable_hello();
    Take(hello.SerializeAsString());
    call_->OnWritten(true);
    for (uint64_t i = 0; i < 2 * kSteps; ++i) requests_.push_back(RequestOf(i));
  }
  ~StepPath() override {
    call_->OnHalfClose();
    call_->OnDone();
  }

  void Run() override {
    for (uint64_t i = 0; i < kSteps; ++i) Step(requests_[next_++]);
  }
  uint64_t units() const override { return kSteps; }

 private:
  static std::string RequestOf(uint64_t i) {
    v1::ClientMessage message;
    v1::StepRequest& step = *message.mutable_step();
    step.set_step_id(i + 1);
    v1::Segment& segment = *step.add_segments();
    segment.set_session_id(1);
    segment.set_start_pos(i);
    segment.add_token_ids(static_cast<uint32_t>(i * 97 % 129280));
    return message.SerializeAsString();
  }

  void Take(const std::string& bytes) {
    call_->OnBytes(
        [&bytes]() -> std::unique_ptr<google::protobuf::io::ZeroCopyInputStream> {
          return std::make_unique<google::protobuf::io::ArrayInputStream>(bytes.data(), static_cast<int>(bytes.size()));
        },
        now_);
  }

  // Two frames, one a layer; the second is written when the first has left.
  void Step(const std::string& request) {
    Take(request);
    ENGRAM_CHECK(scheduler_.RunRound(engine_, now_).ok());
    for (size_t layer = 0; layer < model_.geometry.layers(); ++layer) {
      ENGRAM_CHECK(wire_.written.payload.size() == model_.geometry.columns() * model_.geometry.packed_row_bytes());
      wire_.written = OutMessage();
      call_->OnWritten(true);
    }
  }

  const absl::Time now_ = absl::Now();
  const v1::ServerConfig config_ = DefaultConfig();
  const Checkpoint model_ = CountedModel();
  const v1::Model announced_ = DescribeModel(model_, config_, 1);
  SessionStore sessions_{SessionLimitsOf(config_), model_.geometry.max_ngram_size - 1};
  const Admission admission_{model_.geometry, model_.constants, announced_, sessions_};
  StepGate gate_{config_.scheduling().queue_steps_max(), absl::UnavailableError("closed")};
  Scheduler scheduler_{model_.geometry, model_.constants, OptionsOf(config_)};
  StreamRegistry registry_{config_.streams().streams_max()};
  const ServiceContext context_{announced_, admission_, sessions_, gate_, scheduler_, config_.streams().streams_max()};
  NoRows engine_;
  Wire wire_;
  const std::shared_ptr<StreamCall> call_ = std::make_shared<StreamCall>(context_, registry_, wire_);
  std::vector<std::string> requests_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<CountedPath> MakeStepPath() { return std::make_unique<StepPath>(); }

}  // namespace engram
