// stream_soak --server HOST:PORT: opens streams, uses them and cancels them at random microseconds, then demands that
// the server is at rest and no larger than it was after the first fifth.

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "model/mutex.h"
#include "random_stream.h"
#include "soak_client.h"

namespace engram {
namespace {

constexpr absl::Duration kRestPatience = absl::Seconds(30);
constexpr char kSharedClient[] = "soak";  // the client_id of every other stream
constexpr uint64_t kStreamsPerChannel = 64;

struct Arguments {
  std::string server;
  uint64_t streams = 10000;
  uint64_t threads = 16;
  uint64_t seed = 1;
  uint64_t growth_mib_max = 96;  // the server's cache of reply buffers, 64 MiB, and what malloc keeps of a burst
};

class Soak {
 public:
  Soak(const Arguments& arguments, const v1::Model& model)
      : arguments_(arguments), vocab_size_(model.geometry().vocab_size()) {}

  // Runs streams up to number `end`, spread over the threads.
  void RunTo(uint64_t end) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < arguments_.threads; ++i) threads.emplace_back([this, end] { Work(end); });
    for (std::thread& thread : threads) thread.join();
    next_ = end;
  }

  uint64_t failures() const { return failures_; }
  uint64_t frames() const { return frames_; }

 private:
  void Work(uint64_t end) {
    std::shared_ptr<grpc::Channel> channel;
    uint64_t used = 0;
    for (uint64_t number = next_++; number < end; number = next_++) {
      if (used++ % kStreamsPerChannel == 0) channel = OpenSoakChannel(arguments_.server);
      const StreamLife life = LifeOf(number);
      RandomStream stream(life);
      const absl::Status status = stream.Run(channel);
      frames_ += stream.frames();
      if (!status.ok()) Report(number, status);
    }
  }

  // All of a stream follows from the seed and its number.
  StreamLife LifeOf(uint64_t number) const {
    std::mt19937_64 random(arguments_.seed * 1000003 + number);
    StreamLife life;
    life.end = static_cast<StreamLife::End>(random() % 4);
    life.until_cancel = absl::Microseconds(random() % (random() % 2 == 0 ? 300 : 5000));
    const bool shared = random() % 2 == 0;
    life.messages.push_back(HelloOf(shared ? kSharedClient : ""));
    const uint64_t session_id = number + 1;
    const uint64_t steps = random() % 6;
    uint64_t position = 0;
    for (uint64_t step = 1; step <= steps; ++step) {
      const auto tokens = static_cast<uint32_t>(random() % (random() % 8 == 0 ? 2000 : 20));
      life.messages.push_back(StepOf(step, session_id, position, tokens, vocab_size_));
      position += tokens;
    }
    return life;
  }

  void Report(uint64_t number, const absl::Status& status) {
    if (failures_++ == 0) absl::FPrintF(stderr, "stream %d (seed %d): %s\n", number, arguments_.seed, status.message());
  }

  const Arguments& arguments_;
  const uint32_t vocab_size_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> failures_{0};
  std::atomic<uint64_t> frames_{0};
};

// Sessions of the shared client outlive their streams: closes those of streams [0, count).
absl::Status CloseShared(const std::string& address, const v1::Model& model, uint64_t count) {
  StreamLife life;
  life.messages.push_back(HelloOf(kSharedClient));
  const uint64_t most = model.limits().segments_max();
  for (uint64_t first = 0; first < count; first += most) {
    v1::ClientMessage message;
    message.mutable_step()->set_step_id(first + 1);
    for (uint64_t i = first; i < std::min(first + most, count); ++i) message.mutable_step()->add_close_sessions(i + 1);
    life.messages.push_back(std::move(message));
  }
  return RandomStream(life).Run(OpenSoakChannel(address));
}

// The server at rest, every session closed.
absl::StatusOr<v1::ServerStatus> Settle(const std::string& address, const v1::Model& model, uint64_t streams) {
  if (absl::Status status = CloseShared(address, model, streams); !status.ok()) return status;
  absl::StatusOr<v1::ServerStatus> status = AwaitRest(address, kRestPatience);
  if (!status.ok() || IsAtRest(*status)) return status;
  return absl::InternalError(
      absl::StrFormat("not at rest after %s: %s", absl::FormatDuration(kRestPatience), status->ShortDebugString()));
}

absl::Status Run(const Arguments& arguments) {
  const absl::StatusOr<v1::Model> model = FetchModel(arguments.server, kCallTimeout);
  if (!model.ok()) return model.status();
  Soak soak(arguments, *model);
  const absl::Time start = absl::Now();
  const uint64_t fifth = arguments.streams / 5;
  soak.RunTo(fifth);
  const absl::StatusOr<v1::ServerStatus> early = Settle(arguments.server, *model, fifth);
  if (!early.ok()) return early.status();
  soak.RunTo(arguments.streams);
  const absl::StatusOr<v1::ServerStatus> late = Settle(arguments.server, *model, arguments.streams);
  if (!late.ok()) return late.status();

  constexpr double kMiB = 1 << 20;
  const double grown =
      (static_cast<double>(late->anonymous_bytes()) - static_cast<double>(early->anonymous_bytes())) / kMiB;
  absl::PrintF(
      "%d streams, %d frames read, %.1f s, %d failures; at rest: streams %d, steps %d, sessions %d, unsent %d\n",
      arguments.streams, soak.frames(), absl::ToDoubleSeconds(absl::Now() - start), soak.failures(), late->streams(),
      late->steps_in_flight(), late->sessions(), late->unsent_bytes());
  absl::PrintF("anonymous memory of the server: %.1f MiB after %d streams, %.1f MiB after %d\n",
               static_cast<double>(early->anonymous_bytes()) / kMiB, fifth,
               static_cast<double>(late->anonymous_bytes()) / kMiB, arguments.streams);
  if (soak.failures() > 0) return absl::InternalError("streams failed");
  if (arguments.growth_mib_max != 0 && grown > static_cast<double>(arguments.growth_mib_max)) {
    return absl::InternalError(
        absl::StrFormat("memory grew by %.1f MiB, more than %d", grown, arguments.growth_mib_max));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  CLI::App app{"Opens, uses and cancels streams at random"};
  engram::Arguments arguments;
  app.add_option("--server", arguments.server, "HOST:PORT")->required();
  app.add_option("--streams", arguments.streams, "How many")->check(CLI::Range(10, 10000000))->capture_default_str();
  app.add_option("--threads", arguments.threads, "At once")->check(CLI::Range(1, 512))->capture_default_str();
  app.add_option("--seed", arguments.seed, "Of everything random")->capture_default_str();
  app.add_option("--growth-mib-max", arguments.growth_mib_max, "Bound of the server's growth; 0: none, for sanitizers")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = engram::Run(arguments);
  if (!status.ok()) std::fprintf(stderr, "stream_soak: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
