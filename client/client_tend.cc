// The client's thread: connects, replaces connections, keeps deadlines, shuts down what has ended.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/client_core.h"

namespace engram {

void ClientCore::Run() {
  while (true) {
    Outcome outcome;
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      woken_ = false;
      outcome = std::exchange(refused_, {});
      Tend(ClientClock::now(), outcome);
      const bool settle = !outcome.finished.empty() || !outcome.ended.empty();
      while (!settle && !woken_ && wake_.WaitUntil(mu_, NextWake())) {
      }
    }
    Settle(std::move(outcome));
  }
}

void ClientCore::Tend(Time now, Outcome& outcome) {
  ExpireDeadlines(now, outcome);
  if (current_ != nullptr) {
    const StreamState state = current_->state();
    if (!state.why.ok()) Retire(current_, state.why, now);
  }
  TendAttempt(now);
  QueueDelayed(now);
  ExpireWaiting(now, outcome);
  Reap(outcome);
}

void ClientCore::TendAttempt(Time now) {
  if (attempt_ != nullptr) {
    const StreamState state = attempt_->state();
    if (state.welcomed && state.why.ok()) {
      Open(now);
    } else if (!state.why.ok()) {
      Retire(attempt_, state.why, now);
    } else if (now >= attempt_until_) {
      Retire(attempt_,
             absl::DeadlineExceededError(
                 absl::StrCat("no Welcome within ", absl::FormatDuration(options_.connect_timeout))),
             now);
    }
  }
  if (current_ == nullptr && attempt_ == nullptr && now >= next_attempt_) Connect(now);
}

void ClientCore::Connect(Time now) {
  ConnectionOptions options;
  options.address = addresses_.current();
  options.client_id = options_.client_id;
  options.model_digest = model_digest_;
  options.model_name = options_.model_name;
  options.keepalive = options_.keepalive;
  options.keepalive_timeout = options_.keepalive_timeout;
  options.receive_bytes_max = options_.receive_bytes_max;
  options.shared_memory = options_.shared_memory;
  attempt_until_ = TimeIn(options_.connect_timeout, now);
  attempt_ = std::make_shared<Link>(options, [this] {
    MutexLock lock(mu_);
    Wake();
  });
}

void ClientCore::Open(Time now) {
  if (absl::Status status = attempt_->Open(); !status.ok()) return Retire(attempt_, status, now);
  current_ = std::move(attempt_);
  attempt_ = nullptr;
  addresses_.Welcomed();
  if (!model_.has_value()) model_ = current_->model();
  if (model_digest_.empty()) model_digest_ = current_->model().model_digest();
  changed_.NotifyAll();
  Pump(now);
}

void ClientCore::Retire(std::shared_ptr<Link>& link, const absl::Status& why, Time now) {
  failure_ = absl::Status(why.code(), absl::StrCat(link->address(), ": ", why.message()));
  // Only what a server says to Hello tells what it will say to the next one.
  const absl::Status lasting = link == attempt_ ? why : absl::UnavailableError(why.message());
  retired_.push_back(std::move(link));
  link = nullptr;
  next_attempt_ = now;
  if (addresses_.Failed(lasting)) next_attempt_ += absl::ToChronoNanoseconds(backoff_.Next());
  changed_.NotifyAll();
  Wake();
}

void ClientCore::QueueDelayed(Time now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    queued_.insert(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
  }
  Pump(now);
}

void ClientCore::ExpireDeadlines(Time now, Outcome& outcome) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const Step step = steps_.at(deadlines_.begin()->second);
    CancelOnLinks(step->step_id);
    const absl::Duration timeout = absl::FromChrono(step->deadline - step->submitted);
    Finish(step, absl::DeadlineExceededError(absl::StrCat("not finished within ", absl::FormatDuration(timeout))),
           outcome);
  }
}

void ClientCore::ExpireWaiting(Time now, Outcome& outcome) {
  if (current_ != nullptr) return;
  if (const absl::Status refusal = addresses_.AllRefuse(); !refusal.ok()) {
    while (!queued_.empty()) Finish(steps_.at(*queued_.begin()), refusal, outcome);
  }
  std::vector<Step> expired;
  for (const uint64_t step_id : queued_) {
    const Step& step = steps_.at(step_id);
    step->waiting_since = std::min(step->waiting_since, now);
    if (now >= TimeIn(options_.unavailable_timeout, step->waiting_since)) expired.push_back(step);
  }
  for (const Step& step : expired) {
    Finish(step,
           absl::UnavailableError(absl::StrCat("no server could take the step for ",
                                               absl::FormatDuration(options_.unavailable_timeout),
                                               " (unavailable_timeout); last: ", failure_.message())),
           outcome);
  }
}

void ClientCore::Reap(Outcome& outcome) {
  for (size_t i = 0; i < retired_.size();) {
    if (!retired_[i]->idle()) {
      ++i;
      continue;
    }
    outcome.ended.push_back(std::move(retired_[i]));
    retired_.erase(retired_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

ClientCore::Time ClientCore::NextWake() const {
  Time next = ClientClock::now() + std::chrono::hours(1);
  for (const auto* times : {&deadlines_, &delayed_}) {
    if (!times->empty()) next = std::min(next, times->begin()->first);
  }
  if (current_ != nullptr) return next;
  next = std::min(next, attempt_ != nullptr ? attempt_until_ : next_attempt_);
  for (const uint64_t step_id : queued_) {
    next = std::min(next, TimeIn(options_.unavailable_timeout, steps_.at(step_id)->waiting_since));
  }
  return next;
}

void ClientCore::CancelOnLinks(uint64_t step_id) {
  if (current_ != nullptr) current_->Cancel(step_id);
  for (const std::shared_ptr<Link>& link : retired_) link->Cancel(step_id);
}

absl::StatusOr<v1::Model> ClientCore::AwaitModel(absl::Duration timeout) {
  const Time give_up = TimeIn(std::min(timeout, absl::Hours(24)), ClientClock::now());
  MutexLock lock(mu_);
  while (!model_.has_value() && !stopping_ && addresses_.AllRefuse().ok() && changed_.WaitUntil(mu_, give_up)) {
  }
  if (model_.has_value()) return *model_;
  if (absl::Status refusal = addresses_.AllRefuse(); !refusal.ok()) return refusal;
  return absl::DeadlineExceededError(
      absl::StrCat("no server within ", absl::FormatDuration(timeout), "; last: ", failure_.message()));
}

absl::Status ClientCore::status() const {
  MutexLock lock(mu_);
  return current_ != nullptr ? absl::OkStatus() : failure_;
}

}  // namespace engram
