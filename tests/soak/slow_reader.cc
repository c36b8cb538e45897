// slow_reader --server HOST:PORT: what one client that never reads costs the others, as a ratio within one run, and how
// much memory it holds.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "never_reader.h"
#include "soak_client.h"

namespace engram {
namespace {

struct Arguments {
  std::string server;
  uint64_t readers = 4;
  uint32_t tokens = 256;  // of a step
  uint64_t pairs = 5;
  double window_s = 2;
  uint64_t unsent_mib_max = 0;
  int refused_segments = 0;  // of a step of the one that never reads; 0: its steps ask for rows
  double ratio_min = 0;
};

using Stream = grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>;

// A stream that sends one step after another and reads every answer, until told to stop.
class Reader {
 public:
  Reader(const Arguments& arguments, const v1::Model& model)
      : arguments_(arguments), vocab_size_(model.geometry().vocab_size()), thread_([this] { Work(); }) {}
  ~Reader() {
    stop_ = true;
    thread_.join();
  }

  uint64_t steps() const { return steps_; }
  bool failed() const { return failed_; }

 private:
  void Work() {
    const auto stub = v1::EngramLookup::NewStub(OpenSoakChannel(arguments_.server));
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = stub->Stream(&context);
    stream->Write(HelloOf(""));
    for (uint64_t step_id = 1; !stop_ && !failed_; ++step_id) {
      stream->Write(StepOf(step_id, 1, 0, arguments_.tokens, vocab_size_));
      failed_ = !ReadAnswer(*stream);
      ++steps_;
    }
    context.TryCancel();
    stream->Finish();
  }

  static bool ReadAnswer(Stream& stream) {
    v1::ServerMessage message;
    while (stream.Read(&message)) {
      if (message.reply().last()) return message.reply().code() == 0;
    }
    return false;
  }

  const Arguments& arguments_;
  const uint32_t vocab_size_;
  std::atomic<uint64_t> steps_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

uint64_t StepsOf(const std::vector<std::unique_ptr<Reader>>& readers) {
  uint64_t steps = 0;
  for (const auto& reader : readers) steps += reader->steps();
  return steps;
}

// Steps a second of all readers, over one window.
double Measure(const Arguments& arguments, const std::vector<std::unique_ptr<Reader>>& readers) {
  absl::SleepFor(absl::Milliseconds(200));  // what comes or goes has done so
  const uint64_t before = StepsOf(readers);
  const absl::Time start = absl::Now();
  absl::SleepFor(absl::Seconds(arguments.window_s));
  return static_cast<double>(StepsOf(readers) - before) / absl::ToDoubleSeconds(absl::Now() - start);
}

struct Outcome {
  std::vector<double> ratios;  // with the one that never reads / without
  uint64_t unsent_bytes = 0;   // most seen with it
  uint64_t anonymous_bytes = 0;
};

absl::Status MeasurePair(const Arguments& arguments, const v1::Model& model,
                         const std::vector<std::unique_ptr<Reader>>& readers, Outcome& outcome) {
  const double alone = Measure(arguments, readers);
  double beside = 0;
  absl::StatusOr<v1::ServerStatus> status;
  {
    const NeverReader never(arguments.server, model, arguments.tokens, arguments.refused_segments);
    beside = Measure(arguments, readers);
    status = FetchServerStatus(arguments.server, kCallTimeout);
  }
  if (!status.ok()) return status.status();
  outcome.ratios.push_back(beside / alone);
  outcome.unsent_bytes = std::max(outcome.unsent_bytes, status->unsent_bytes());
  outcome.anonymous_bytes = std::max(outcome.anonymous_bytes, status->anonymous_bytes());
  absl::PrintF("alone %.0f steps/s, beside %.0f steps/s, ratio %.3f, unsent %.1f MiB\n", alone, beside,
               outcome.ratios.back(), static_cast<double>(status->unsent_bytes()) / (1 << 20));
  return absl::OkStatus();
}

absl::Status Judge(const Arguments& arguments, Outcome outcome) {
  constexpr double kMiB = 1 << 20;
  std::sort(outcome.ratios.begin(), outcome.ratios.end());
  const double median = outcome.ratios[outcome.ratios.size() / 2];
  const double unsent = static_cast<double>(outcome.unsent_bytes) / kMiB;
  absl::PrintF("median ratio %.3f of %d pairs; at most %.1f MiB unsent, %.1f MiB anonymous memory\n", median,
               outcome.ratios.size(), unsent, static_cast<double>(outcome.anonymous_bytes) / kMiB);
  if (arguments.unsent_mib_max != 0 && unsent > static_cast<double>(arguments.unsent_mib_max)) {
    return absl::InternalError(absl::StrFormat("%.1f MiB unsent, more than %d", unsent, arguments.unsent_mib_max));
  }
  if (median < arguments.ratio_min) {
    return absl::InternalError(absl::StrFormat("ratio %.3f is below %.3f", median, arguments.ratio_min));
  }
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  const absl::StatusOr<v1::Model> model = FetchModel(arguments.server, kCallTimeout);
  if (!model.ok()) return model.status();
  std::vector<std::unique_ptr<Reader>> readers;
  for (uint64_t i = 0; i < arguments.readers; ++i) readers.push_back(std::make_unique<Reader>(arguments, *model));
  Outcome outcome;
  for (uint64_t i = 0; i < arguments.pairs; ++i) {
    if (absl::Status status = MeasurePair(arguments, *model, readers, outcome); !status.ok()) return status;
  }
  for (const auto& reader : readers) {
    if (reader->failed() || reader->steps() == 0) return absl::InternalError("a reader's step failed");
  }
  return Judge(arguments, outcome);
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  CLI::App app{"What a client that never reads costs the others"};
  engram::Arguments arguments;
  app.add_option("--server", arguments.server, "HOST:PORT")->required();
  app.add_option("--readers", arguments.readers, "Streams that read")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--tokens", arguments.tokens, "Of a step")->check(CLI::Range(1, 65536))->capture_default_str();
  app.add_option("--refused-segments", arguments.refused_segments, "Of each step that is not read; 0: ask for rows")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--pairs", arguments.pairs, "Of windows without and with it")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--window", arguments.window_s, "Seconds")->check(CLI::Range(0.1, 600.0))->capture_default_str();
  app.add_option("--unsent-mib-max", arguments.unsent_mib_max, "Fail above it; 0: no bound")->capture_default_str();
  app.add_option("--ratio-min", arguments.ratio_min, "Fail below it, on a quiet machine")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = engram::Run(arguments);
  if (!status.ok()) std::fprintf(stderr, "slow_reader: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
