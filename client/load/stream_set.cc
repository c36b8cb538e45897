#include "client/load/stream_set.h"

#include <algorithm>
#include <memory>

#include "client/load/replay_profile.h"
#include "model/files/errors.h"

namespace engram {
namespace {

constexpr uint64_t kSeedStep = 0xD1B54A32D192ED03;  // the first stream keeps the run's seed

std::unique_ptr<LoadProfile> MakeProfile(size_t stream, const LoadOptions& options, const TokenPool* pool,
                                         uint32_t lookback) {
  if (options.profile == ProfileKind::kReplay) {
    return std::make_unique<ReplayProfile>(options.replay, stream, lookback);
  }
  SessionProfileOptions profile;
  profile.kind = KindOfStream(stream, options);
  profile.seed = options.seed + kSeedStep * stream;
  profile.sessions = SessionsOfStream(stream, options);
  profile.segments = ExtentOf(profile.kind, options).segments;
  profile.tokens = ExtentOf(profile.kind, options).tokens;
  profile.session_tokens = options.session_tokens;
  profile.session_ids_from = uint64_t{stream} << 32;
  profile.lookback = lookback;
  return std::make_unique<SessionProfile>(profile, *pool);
}

Arrivals MakeArrivals(size_t stream, const LoadOptions& options) {
  switch (options.arrival) {
    case ArrivalKind::kClosed:
      return nullptr;
    case ArrivalKind::kFixed:
      return FixedArrivals(options.rate, stream, options.streams);
    case ArrivalKind::kPoisson:
      return PoissonArrivals(options.rate, options.streams, options.seed ^ (kSeedStep * (stream + 1)));
    case ArrivalKind::kRecorded:
      return RecordedArrivals(options.replay, stream);
  }
  return nullptr;
}

}  // namespace

StreamSet::StreamSet(const LoadShared& shared, const TokenPool* pool, uint32_t lookback) {
  const LoadOptions& options = shared.options;
  for (size_t stream = 0; stream < options.streams; ++stream) {
    streams_.emplace_back(shared, stream, MakeProfile(stream, options, pool, lookback), MakeArrivals(stream, options));
  }
}

StreamSet::~StreamSet() {
  Stop(LoadTime::min());
  Join();
}

absl::Status StreamSet::Connect() {
  for (RunStream& stream : streams_) stream.Connect();
  for (RunStream& stream : streams_) ENGRAM_RETURN_IF_ERROR(stream.AwaitConnected());
  return absl::OkStatus();
}

void StreamSet::Start() {
  running_ = streams_.size();
  for (RunStream& stream : streams_) {
    threads_.emplace_back([this, &stream] {
      stream.Run();
      --running_;
    });
  }
}

void StreamSet::Stop(LoadTime give_up) {
  for (RunStream& stream : streams_) stream.Stop(give_up);
}

void StreamSet::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

uint64_t StreamSet::in_flight() const {
  uint64_t sum = 0;
  for (const RunStream& stream : streams_) sum += stream.in_flight();
  return sum;
}

uint64_t StreamSet::due() const {
  uint64_t sum = 0;
  for (const RunStream& stream : streams_) sum += stream.due();
  return sum;
}

uint64_t StreamSet::reconnections() const {
  uint64_t sum = 0;
  for (const RunStream& stream : streams_) sum += stream.reconnections();
  return sum;
}

LoadTime StreamSet::oldest_due() const {
  LoadTime oldest = LoadTime::max();
  for (const RunStream& stream : streams_) oldest = std::min(oldest, stream.oldest_due().value_or(oldest));
  return oldest;
}

}  // namespace engram
