#include "client/load/stream.h"

#include <sys/prctl.h>

#include <algorithm>
#include <utility>

namespace engram {
namespace {

constexpr absl::Duration kUnavailableTimeout = absl::Seconds(5);
constexpr absl::Duration kConnectTimeout = absl::Seconds(10);
constexpr auto kGlance = std::chrono::milliseconds(100);  // at the clock, at least so often
constexpr uint64_t kStepsBeside = 16;   // that the client may hold for a moment longer than this stream
constexpr double kCancelSpread = 1.25;  // times what a step took of late: most cancels come before the answer
constexpr uint64_t kSeedStep = 0x9E3779B97F4A7C15;

// The kernel may wake a sleeper 50 us late, to save power; here that would count as latency.
void WakeExactly() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace

RunStream::RunStream(const LoadShared& shared, size_t number, std::unique_ptr<LoadProfile> profile, Arrivals arrivals)
    : shared_(shared),
      options_(shared.options),
      number_(number),
      profile_(std::move(profile)),
      random_(~options_.seed + kSeedStep * number),
      arrivals_(std::move(arrivals)) {}

void RunStream::Connect() {
  ClientOptions options;
  options.addresses = {options_.server};
  options.model_digest = shared_.model.model_digest();
  options.random_seed = random_();
  options.unavailable_timeout = std::min(kUnavailableTimeout, options_.step_timeout);
  options.steps_max = *options_.in_flight + kStepsBeside;
  options.backoff.max = absl::Seconds(1);
  if (options_.shared_memory) {
    options.shared_memory = {SharedBytesOf(options_, shared_.token_bytes), options_.segment_prefix, true};
  }
  client_ = *Client::Create(std::move(options));  // these options are within bounds
}

absl::Status RunStream::AwaitConnected() { return client_->AwaitModel(kConnectTimeout).status(); }

bool RunStream::Over(LoadTime now) const {
  return stop_.load() || now >= shared_.end || (profile_->ended() && flights_.empty());
}

void RunStream::Run() {
  WakeExactly();
  if (arrivals_ != nullptr) {
    starts_.emplace(std::move(arrivals_), shared_.begin, std::max<uint64_t>(1, options_.due_max / options_.streams));
  }
  reconnect_at_ = DrawReconnect(shared_.begin);
  TakeAnswers(shared_.begin);
  for (LoadTime now = LoadNow(); !Over(now); now = LoadNow()) {
    CancelDue(now);
    if (now >= reconnect_at_) Reconnect(now);
    SubmitDue(now);
    TakeAnswers(NextEvent(now));
  }
  Drain();
}

void RunStream::Stop(LoadTime give_up) {
  give_up_ = give_up;
  stop_ = true;
  inbox_.Wake();
}

LoadTime RunStream::NextEvent(LoadTime now) const {
  LoadTime next = std::min({now + kGlance, shared_.end, reconnect_at_});
  if (rest_until_ > now) next = std::min(next, rest_until_);
  // With as many steps under way as may be, only an answer makes room.
  if (starts_.has_value() && flights_.size() < *options_.in_flight) next = std::min(next, starts_->next());
  return std::min(next, NextCancel());
}

LoadTime RunStream::NextCancel() const {
  LoadTime next = LoadTime::max();
  if (options_.cancel_fraction <= 0) return next;
  for (const auto& [id, flight] : flights_) next = std::min(next, flight.cancel_at);
  return next;
}

void RunStream::TakeAnswers(LoadTime until) {
  for (LoadAnswer& answer : inbox_.AwaitUntil(until)) Settle(std::move(answer), true);
}

void RunStream::UpdateDue(LoadTime now) {
  starts_->Advance(now);
  shared_.scoreboard->AddDropped(starts_->dropped() - std::exchange(dropped_, starts_->dropped()), now);
}

void RunStream::SubmitDue(LoadTime now) {
  if (now < rest_until_) return;
  if (starts_.has_value()) UpdateDue(now);
  while (flights_.size() < *options_.in_flight && (!starts_.has_value() || starts_->due() > 0)) {
    std::optional<LoadStep> step = profile_->Next();
    if (!step.has_value()) break;
    Submit(*std::move(step), starts_.has_value() ? starts_->Pop() : std::nullopt);
  }
  due_.store(starts_.has_value() ? starts_->due() : 0, std::memory_order_relaxed);
}

void RunStream::Submit(LoadStep step, std::optional<LoadTime> intended) {
  const uint64_t id = ++last_flight_;
  Flight& flight = flights_[id];
  in_flight_.store(flights_.size(), std::memory_order_relaxed);
  flight.check = shared_.checks != nullptr && DrawShare(random_) < options_.verify_fraction;
  flight.sent = LoadNow();
  flight.intended = intended.value_or(flight.sent);
  flight.cancel_at = LoadTime::max();
  if (options_.cancel_fraction > 0 && DrawShare(random_) < options_.cancel_fraction) {
    flight.cancel_at = flight.sent + absl::ToChronoNanoseconds(kCancelSpread * DrawShare(random_) * latency_);
  }
  if (options_.recorder != nullptr) {
    options_.recorder->Write(number_, step, absl::FromChrono(flight.intended - shared_.begin));
  }
  TrackedStep tracked = std::move(step.step);
  tracked.request.set_format(options_.format);
  tracked.request.set_unique_rows(options_.unique_rows);
  flight.step = std::move(step);
  const absl::Status sent = Send(id, flight, std::move(tracked));
  if (sent.ok()) return;
  LoadAnswer refused{id, LoadNow(), {}};
  refused.result.status = sent;
  Settle(std::move(refused), true);
}

absl::Status RunStream::Send(uint64_t id, Flight& flight, TrackedStep step) {
  const StepOptions options{options_.step_timeout};
  if (flight.cancel_at != LoadTime::max()) {
    absl::StatusOr<StepFuture> future = client_->Submit(std::move(step), options);
    if (!future.ok()) return future.status();
    flight.future = *std::move(future);
    return absl::OkStatus();
  }
  const auto done = [this, id, check = flight.check](StepResult result) {
    const LoadTime at = LoadNow();
    // What waits to be checked would keep its place from further steps.
    for (LayerRows& layer : result.layers) {
      if (check) result.status.Update(layer.LeaveSharedMemory());
    }
    if (!check) result.layers.clear();
    inbox_.Put({id, at, std::move(result)});
  };
  return client_->Submit(std::move(step), done, options);
}

LoadTime RunStream::DrawReconnect(LoadTime now) {
  if (options_.reconnect_every == absl::InfiniteDuration()) return LoadTime::max();
  std::exponential_distribution<double> wait(1 / absl::ToDoubleSeconds(options_.reconnect_every));
  return now + absl::ToChronoNanoseconds(absl::Seconds(wait(random_)));
}

// The steps under way end with CANCELLED, at the latest while the client is destroyed.
void RunStream::BreakOff() {
  for (auto& [id, flight] : flights_) flight.interrupted = true;
  client_.reset();
  CancelDue(LoadTime::max() - std::chrono::nanoseconds(1));
  TakeAnswers(LoadNow());
}

void RunStream::Reconnect(LoadTime now) {
  BreakOff();
  Connect();
  ++reconnections_;
  reconnect_at_ = DrawReconnect(now);
}

void RunStream::Drain() {
  if (starts_.has_value()) {
    UpdateDue(std::min(LoadNow(), shared_.end));
    due_.store(starts_->due(), std::memory_order_relaxed);
    oldest_due_ = starts_->Pop();
  }
  const LoadTime planned = LoadNow() + absl::ToChronoNanoseconds(options_.step_timeout + kUnavailableTimeout);
  for (LoadTime now = LoadNow(); !flights_.empty() && now < std::min(planned, give_up_.load()); now = LoadNow()) {
    CancelDue(now);
    TakeAnswers(std::min(now + kGlance, NextCancel()));
  }
  BreakOff();
}

}  // namespace engram
