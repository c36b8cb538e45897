#include "client/connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/channel.h"
#include "client/client_stream.h"
#include "client/model_geometry.h"
#include "client/pending_step.h"

namespace engram {
namespace {

absl::Status Named(const std::string& address, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(address, ": ", status.message()));
}

}  // namespace

StepHandle::StepHandle(std::shared_ptr<PendingStep> step, std::weak_ptr<ClientStream> stream)
    : step_(std::move(step)), stream_(std::move(stream)) {}
StepHandle::StepHandle(StepHandle&&) noexcept = default;
StepHandle& StepHandle::operator=(StepHandle&&) noexcept = default;
StepHandle::~StepHandle() = default;

uint64_t StepHandle::step_id() const { return step_->step_id(); }
bool StepHandle::WaitFor(absl::Duration timeout) const { return step_->WaitFor(timeout); }
StepResult StepHandle::Wait() { return step_->Take(); }

void StepHandle::Cancel() {
  if (const std::shared_ptr<ClientStream> stream = stream_.lock()) stream->Cancel(step_id());
}

Connection::Connection(std::shared_ptr<ClientStream> stream, v1::Welcome welcome, Geometry geometry)
    : stream_(std::move(stream)), welcome_(std::move(welcome)), geometry_(std::move(geometry)) {}

Connection::~Connection() { stream_->Shutdown(); }

absl::StatusOr<std::unique_ptr<Connection>> Connection::Connect(const ConnectionOptions& options) {
  auto stream = std::make_shared<ClientStream>(OpenChannel(options), nullptr, options.shared_memory);
  stream->Start(HelloOf(options));
  absl::StatusOr<v1::Welcome> welcome = stream->AwaitWelcome(options.connect_timeout);
  absl::StatusOr<Geometry> geometry = welcome.ok() ? GeometryOf(welcome->model()) : welcome.status();
  if (!geometry.ok()) {
    stream->Shutdown();
    return Named(options.address, geometry.status());
  }
  return std::unique_ptr<Connection>(new Connection(std::move(stream), *std::move(welcome), *std::move(geometry)));
}

absl::StatusOr<StepHandle> Connection::Submit(v1::StepRequest step, bool keep_unique) {
  absl::StatusOr<std::shared_ptr<PendingStep>> pending = stream_->Submit(std::move(step), geometry_, keep_unique);
  if (!pending.ok()) return pending.status();
  return StepHandle(*std::move(pending), stream_);
}

StepResult Connection::Run(v1::StepRequest step) {
  absl::StatusOr<StepHandle> handle = Submit(std::move(step));
  if (handle.ok()) return handle->Wait();
  StepResult refused;
  refused.status = handle.status();
  return refused;
}

absl::Status Connection::shared_memory_status() const { return stream_->shared_memory_status(); }

absl::Status Connection::status() const { return stream_->status(); }

}  // namespace engram
