// Steps: taken and sent.

#include "client/client_core.h"

#include "absl/strings/str_cat.h"

namespace engram {
ClientCore::ClientCore(ClientOptions options)
    : options_(std::move(options)),
      addresses_(options_.addresses),
      backoff_(options_.backoff, JitterSeed(options_.random_seed)),
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
    outcome = std::exchange(refused_, {});
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
  submitted->keep_unique = options.keep_unique;
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

// In order: the first that finds no room holds up those behind it. Steps that no server would take are finished by the
// thread, because a callback of the caller's must not run within its call of Submit.
void ClientCore::Pump(Time now) {
  while (current_ != nullptr && !queued_.empty()) {
    const Step step = steps_.at(*queued_.begin());
    if (absl::Status status = current_->CheckLimits(*step); !status.ok()) {
      Finish(step, std::move(status), refused_);
      Wake();
      continue;
    }
    if (!current_->HasRoomFor(*step)) return;
    // The link is kept alive by this client until Shutdown, after which it answers no more.
    const auto answered = [this, link = current_.get(), step](StepResult result) {
      OnAnswered(link->shared_from_this(), step, std::move(result));
    };
    if (!current_->Send(*step, now, answered).ok()) return;  // the thread hears of it too
    queued_.erase(step->step_id);
  }
}

void ClientCore::Wake() {
  woken_ = true;
  wake_.NotifyOne();
}

}  // namespace engram
