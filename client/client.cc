#include "client/client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/client_core.h"
#include "client/step_limits.h"
#include "client/submitted_step.h"

namespace engram {
namespace {

absl::Status Check(const ClientOptions& options) {
  if (options.addresses.empty()) return absl::InvalidArgumentError("addresses is empty: must hold at least one");
  for (const std::string& address : options.addresses) {
    if (address.empty()) return absl::InvalidArgumentError("addresses holds an empty one: must be HOST:PORT");
  }
  const BackoffOptions& backoff = options.backoff;
  if (backoff.initial <= absl::ZeroDuration() || backoff.max < backoff.initial || !(backoff.multiplier >= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("backoff = ", absl::FormatDuration(backoff.initial), ", at most ",
                                                   absl::FormatDuration(backoff.max), ", times ", backoff.multiplier,
                                                   ": must be positive, not above its maximum, times 1 at least"));
  }
  if (options.steps_max == 0) return absl::InvalidArgumentError("steps_max = 0: must be at least 1");
  if (absl::Status status = CheckUtf8("client_id", options.client_id); !status.ok()) return status;
  return CheckUtf8("model_name", options.model_name);
}

// Append is the only one to fill `tracked` in, but the request is the caller's to change.
absl::Status Check(const TrackedStep& step) {
  for (const TrackedSegment& tracked : step.tracked) {
    if (tracked.view != nullptr && tracked.index >= 0 && tracked.index < step.request.segments_size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("segment ", tracked.index,
                                                   " of a TrackedSession is gone: the step has ",
                                                   step.request.segments_size(), " segments"));
  }
  return CheckStrings(step.request);
}

}  // namespace

StepFuture::StepFuture(std::shared_ptr<SubmittedStep> step, std::weak_ptr<ClientCore> core)
    : step_(std::move(step)), core_(std::move(core)) {}

uint64_t StepFuture::step_id() const { return step_->step_id; }
bool StepFuture::WaitFor(absl::Duration timeout) const { return step_->WaitFor(timeout); }
StepResult StepFuture::Wait() { return step_->Take(); }

void StepFuture::Cancel() {
  if (const std::shared_ptr<ClientCore> core = core_.lock()) core->Cancel(step_->step_id);
}

Client::Client(std::shared_ptr<ClientCore> core) : core_(std::move(core)) {}

Client::~Client() { core_->Stop(); }

absl::StatusOr<std::unique_ptr<Client>> Client::Create(ClientOptions options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  auto core = std::make_shared<ClientCore>(std::move(options));
  core->Start();
  return std::unique_ptr<Client>(new Client(std::move(core)));
}

absl::StatusOr<v1::Model> Client::AwaitModel(absl::Duration timeout) { return core_->AwaitModel(timeout); }

absl::StatusOr<StepFuture> Client::Submit(TrackedStep step, StepOptions options) {
  if (absl::Status status = Check(step); !status.ok()) return status;
  absl::StatusOr<std::shared_ptr<SubmittedStep>> submitted = core_->Submit(std::move(step), options, nullptr);
  if (!submitted.ok()) return submitted.status();
  return StepFuture(*std::move(submitted), core_);
}

absl::Status Client::Submit(TrackedStep step, std::function<void(StepResult)> done, StepOptions options) {
  if (absl::Status status = Check(step); !status.ok()) return status;
  return core_->Submit(std::move(step), options, std::move(done)).status();
}

StepResult Client::Run(TrackedStep step, StepOptions options) {
  absl::StatusOr<StepFuture> future = Submit(std::move(step), options);
  if (future.ok()) return future->Wait();
  StepResult refused;
  refused.status = future.status();
  return refused;
}

absl::Status Client::status() const { return core_->status(); }

}  // namespace engram
