// Steps: taken, sent, answered, put back, finished.

#include "client/client_core.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

uint64_t SeedOf(const ClientOptions& options) {
  if (options.random_seed.has_value()) return *options.random_seed;
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

ClientCore::ClientCore(ClientOptions options)
    : options_(std::move(options)),
      addresses_(options_.addresses),
      backoff_(options_.backoff, SeedOf(options_)),
      model_digest_(options_.model_digest),
      failure_(absl::UnavailableError("not connected yet")) {}

void ClientCore::Start() {
  thread_ = std::thread([this] { Run(); });
}

// Once every step is finished and every connection shut down nothing calls back any more.
void ClientCore::Stop() {
  Outcome outcome;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    while (!steps_.empty()) {
      Finish(steps_.begin()->second, absl::CancelledError("the client was destroyed"), outcome);
    }
    Wake();
    changed_.NotifyAll();
  }
  thread_.join();
  {
    MutexLock lock(mu_);
    outcome.ended = std::move(retired_);
    for (std::shared_ptr<Link>* link : {&attempt_, &current_}) {
      if (*link != nullptr) outcome.ended.push_back(std::move(*link));
    }
  }
  Settle(std::move(outcome));
}

void ClientCore::Settle(Outcome outcome) {
  for (auto& [step, result] : outcome.finished) step->Finish(std::move(result));
  for (const std::shared_ptr<Link>& link : outcome.ended) link->Shutdown();
}

absl::Status ClientCore::CheckRoom(uint64_t bytes) const {
  if (stopping_) return absl::CancelledError("the client is being destroyed");
  if (steps_.size() >= options_.steps_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("one step more: ", steps_.size(), " are unfinished, steps_max is ", options_.steps_max));
  }
  if (bytes > options_.request_bytes_max - request_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("a request of ", bytes, " bytes: ", request_bytes_,
                                                     " are unfinished, request_bytes_max is ",
                                                     options_.request_bytes_max));
  }
  return absl::OkStatus();
}

absl::StatusOr<ClientCore::Step> ClientCore::Submit(TrackedStep step, const StepOptions& options,
                                                    SubmittedStep::Done done) {
  const Time now = ClientClock::now();
  MutexLock lock(mu_);
  auto submitted = std::make_shared<SubmittedStep>(last_step_id_ + 1, std::move(step), now,
                                                   TimeIn(options.timeout, now), std::move(done));
  if (absl::Status status = CheckRoom(submitted->bytes); !status.ok()) return status;
  ++last_step_id_;
  request_bytes_ += submitted->bytes;
  steps_.emplace(submitted->step_id, submitted);
  queued_.insert(submitted->step_id);
  const bool has_deadline = submitted->deadline != Time::max();
  if (has_deadline) deadlines_.emplace(submitted->deadline, submitted->step_id);
  const bool first = has_deadline && deadlines_.begin()->second == submitted->step_id;
  Pump(now);
  if (first || current_ == nullptr) Wake();
  return submitted;
}

// In order: the first that finds no room holds up those behind it.
void ClientCore::Pump(Time now) {
  while (current_ != nullptr && !queued_.empty()) {
    const Step& step = steps_.at(*queued_.begin());
    if (!current_->HasRoomFor(*step)) return;
    // The link is kept alive by this client until Shutdown, after which it answers no more.
    const auto answered = [this, link = current_.get(), step](StepResult result) {
      OnAnswered(link->shared_from_this(), step, std::move(result));
    };
    if (!current_->Send(*step, now, answered).ok()) return;  // the thread hears of it too
    queued_.erase(queued_.begin());
  }
}

void ClientCore::OnAnswered(const std::shared_ptr<Link>& link, const Step& step, StepResult result) {
  const Time now = ClientClock::now();
  Outcome outcome;
  {
    MutexLock lock(mu_);
    const absl::Status status = result.status;
    const Verdict verdict = link->Answered(step->step_id, result);
    if (verdict == Verdict::kElsewhere && link == current_) Retire(current_, status, now);
    if (verdict == Verdict::kFinished || verdict == Verdict::kAgain) {
      addresses_.Succeeded();
      backoff_.Reset();
    }
    if (steps_.count(step->step_id) == 0) {
      // It was cancelled, or its time was up.
    } else if (verdict == Verdict::kFinished) {
      Finish(step, std::move(result), outcome);
    } else {
      PutBack(step, verdict, std::move(result), now, outcome);
    }
    Pump(now);
    if (link != current_) Wake();
  }
  Settle(std::move(outcome));
}

void ClientCore::PutBack(const Step& step, Verdict verdict, StepResult result, Time now, Outcome& outcome) {
  if (verdict == Verdict::kLost) {
    if (++step->losses > options_.losses_max) {
      return Finish(step,
                    absl::UnavailableError(absl::StrCat("the step was in flight on ", step->losses,
                                                        " connections that were lost, losses_max is ",
                                                        options_.losses_max, ": ", result.status.message())),
                    outcome);
    }
    step->waiting_since = now;
  }
  if (verdict == Verdict::kElsewhere) {
    step->waiting_since = std::min(step->waiting_since, now);
    if (now - step->waiting_since >= absl::ToChronoNanoseconds(options_.unavailable_timeout)) {
      return Finish(step, std::move(result), outcome);
    }
  }
  queued_.insert(step->step_id);
}

void ClientCore::Cancel(uint64_t step_id) {
  Outcome outcome;
  {
    MutexLock lock(mu_);
    const auto found = steps_.find(step_id);
    if (found == steps_.end()) return;
    CancelOnLinks(step_id);
    Finish(found->second, absl::CancelledError("cancelled by the caller"), outcome);
    Pump(ClientClock::now());
  }
  Settle(std::move(outcome));
}

void ClientCore::Finish(const Step& step, absl::Status status, Outcome& outcome) {
  StepResult result;
  result.status = std::move(status);
  Finish(step, std::move(result), outcome);
}

void ClientCore::Finish(const Step& step, StepResult result, Outcome& outcome) {
  outcome.finished.emplace_back(step, std::move(result));
  request_bytes_ -= step->bytes;
  deadlines_.erase({step->deadline, step->step_id});
  queued_.erase(step->step_id);
  step->step = {};
  steps_.erase(step->step_id);  // `step` may be what it held
}

void ClientCore::Wake() {
  woken_ = true;
  wake_.NotifyOne();
}

}  // namespace engram
