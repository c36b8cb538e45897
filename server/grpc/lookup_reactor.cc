#include "server/grpc/lookup_reactor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/grpc/status.h"

namespace engram {
namespace {

// What every gRPC client takes in one message without being told otherwise.
constexpr size_t kReplyBytesMax = size_t{4} << 20;

}  // namespace

grpc::ServerUnaryReactor* LookupReactor::Start(const ServiceContext& context, std::atomic<int64_t>& open_calls,
                                               const v1::LookupRequest& request, absl::Time deadline,
                                               v1::LookupReply& reply) {
  auto reactor = std::make_shared<LookupReactor>(context, open_calls, reply);
  reactor->self_ = reactor;
  const absl::Status status = reactor->Submit(request, deadline);
  if (!status.ok()) reactor->FinishOnce(status);
  return reactor.get();
}

absl::Status LookupReactor::Submit(const v1::LookupRequest& request, absl::Time deadline) {
  const absl::Time arrival = absl::Now();
  if (absl::Status status = context_.admission.CheckHello(request.hello()); !status.ok()) return status;
  absl::StatusOr<StepTicket> ticket = context_.gate.Enter();
  if (!ticket.ok()) return ticket.status();
  client_private_ = request.hello().client_id().empty();
  client_ = client_private_ ? context_.sessions.PrivateClient() : request.hello().client_id();
  stream_id_ = context_.scheduler.OpenStream(shared_from_this());

  const v1::Limits& limits = context_.model.limits();
  StepRoom room;
  room.steps_free = room.steps_max = 1;
  room.bytes_free = room.bytes_max = limits.bytes_in_flight_max();
  room.tokens_max = limits.lookup_tokens_max();
  room.tokens_max_name = "lookup_tokens_max";
  absl::StatusOr<Step> step = context_.admission.Admit(StepOrigin{stream_id_, client_}, request.step(), room, arrival);
  if (!step.ok()) return step.status();
  step->deadline = std::min(step->deadline, deadline);
  context_.scheduler.Submit(stream_id_, *std::move(ticket), *std::move(step));
  return absl::OkStatus();
}

void LookupReactor::Deliver(ReplyFrame frame) {
  absl::Status outcome;
  {
    MutexLock lock(mu_);
    if (finished_) return;
    *reply_.add_frames() = CopyToMessage(frame);
    if (!frame.last()) return;
    outcome = Outcome(frame.head);
  }
  FinishOnce(outcome);
}

absl::Status LookupReactor::Outcome(const v1::StepReply& last) const {
  const auto code = static_cast<absl::StatusCode>(last.code());
  // A session that could not be closed costs nobody the rows: the code stays in the last frame.
  if (code != absl::StatusCode::kOk && code != absl::StatusCode::kAborted) return absl::Status(code, last.message());
  const size_t bytes = reply_.ByteSizeLong();
  if (bytes <= kReplyBytesMax) return absl::OkStatus();
  int segments = 0;
  for (const v1::StepReply& frame : reply_.frames()) segments += frame.results_size();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has ", bytes, " bytes, a LookupReply at most ", kReplyBytesMax,
                   "; the sessions were written. Send fewer segments than ", segments, ", or use Stream"));
}

void LookupReactor::FinishOnce(const absl::Status& status) {
  {
    MutexLock lock(mu_);
    if (finished_) return;
    finished_ = true;
  }
  Finish(ToGrpcStatus(status));
}

void LookupReactor::OnCancel() {
  context_.scheduler.CloseStream(stream_id_);
  FinishOnce(absl::CancelledError("the call was cancelled"));
}

void LookupReactor::OnDone() {
  context_.scheduler.CloseStream(stream_id_);
  if (client_private_) context_.sessions.ForgetClient(client_);
  open_calls_.fetch_sub(1);
  self_.reset();
}

}  // namespace engram
