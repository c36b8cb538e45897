#include "load.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include "model/files/errors.h"
#include "stopwatch.h"

namespace engram {
namespace {

constexpr double kLongest = 20;  // windows

using Streams = std::vector<std::unique_ptr<LoadStream>>;

absl::StatusOr<Streams> OpenStreams(const BenchInput& input, const LoadPlan& plan, uint32_t count) {
  Streams streams;
  for (uint32_t i = 0; i < count; ++i) {
    streams.push_back(std::make_unique<LoadStream>(input, plan, input.tokens.size() * i / count));
    ENGRAM_RETURN_IF_ERROR(streams.back()->Connect());
  }
  return streams;
}

uint64_t BytesOf(const Streams& streams) {
  uint64_t bytes = 0;
  for (const auto& stream : streams) bytes += stream->bytes();
  return bytes;
}

bool AllAnswered(const Streams& streams) {
  return std::all_of(streams.begin(), streams.end(), [](const auto& stream) { return stream->answered() > 0; });
}

// For `seconds`, and on until every stream has a step answered, but not for ever.
void Wait(const Streams& streams, double seconds, const Stopwatch& watch) {
  constexpr std::chrono::milliseconds kLook{5};
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  while (!AllAnswered(streams) && watch.Seconds() < kLongest * seconds) std::this_thread::sleep_for(kLook);
}

// Bytes and time of the window; the streams have stopped when it returns.
absl::Status RunStreams(const Streams& streams, double seconds, LoadFigures& figures) {
  std::vector<absl::Status> ends(streams.size());
  std::vector<std::thread> threads;
  const Stopwatch watch;
  const uint64_t before = BytesOf(streams);
  for (size_t i = 0; i < streams.size(); ++i) {
    threads.emplace_back([&, i] { ends[i] = streams[i]->Run(); });
  }
  Wait(streams, seconds, watch);
  figures.row_bytes = static_cast<double>(BytesOf(streams) - before);
  figures.seconds = watch.Seconds();
  for (const auto& stream : streams) stream->Stop();
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& end : ends) ENGRAM_RETURN_IF_ERROR(end);
  return absl::OkStatus();
}

}  // namespace

double LoadFigures::Percentile(double percent) const {
  if (latencies.empty()) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(latencies.size()));
  return latencies[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

absl::StatusOr<LoadFigures> RunLoad(const BenchInput& input, const LoadPlan& plan, uint32_t streams, double seconds) {
  ENGRAM_ASSIGN_OR_RETURN(const Streams opened, OpenStreams(input, plan, streams));
  LoadFigures figures;
  ENGRAM_RETURN_IF_ERROR(RunStreams(opened, seconds, figures));
  const Geometry& geometry = input.geometry();
  const double token_bytes = static_cast<double>(geometry.layers() * geometry.columns() * geometry.packed_row_bytes());
  figures.tokens_per_second = figures.row_bytes / token_bytes / figures.seconds;
  for (const auto& stream : opened) {
    figures.latencies.insert(figures.latencies.end(), stream->latencies().begin(), stream->latencies().end());
    figures.rows_checked += stream->rows_checked();
  }
  std::sort(figures.latencies.begin(), figures.latencies.end());
  return figures;
}

}  // namespace engram
