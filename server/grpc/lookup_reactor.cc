#include "server/grpc/lookup_reactor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/request_bound.h"
#include "server/grpc/status.h"
#include "server/grpc/wire.h"
#include "server/wire_scan.h"

namespace engram {
namespace {

// What every gRPC client takes in one message without being told otherwise.
constexpr size_t kReplyBytesMax = size_t{4} << 20;
// Of a request: Hello, layers, and what newer clients add.
constexpr uint64_t kLookupRestBytes = uint64_t{64} << 10;

}  // namespace

grpc::ServerUnaryReactor* LookupReactor::Start(const ServiceContext& context, std::atomic<int64_t>& open_calls,
                                               const grpc::ByteBuffer& request, absl::Time deadline,
                                               grpc::ByteBuffer& reply) {
  auto reactor = std::make_shared<LookupReactor>(context, open_calls, reply);
  reactor->self_ = reactor;
  const absl::Status status = reactor->Submit(request, deadline);
  if (!status.ok()) reactor->FinishOnce(status);
  return reactor.get();
}

// Decoding takes many times the memory of some messages, so size and fields are looked at before.
absl::Status LookupReactor::Decode(const grpc::ByteBuffer& bytes, v1::LookupRequest& request) const {
  const v1::Limits& limits = context_.model.limits();
  const uint64_t bytes_max = RequestBytesMax(limits.lookup_tokens_max(), limits.segments_max(), kLookupRestBytes);
  if (bytes.Length() > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the request has ", bytes.Length(), " bytes: a Lookup may have ", bytes_max, "; use Stream"));
  }
  const absl::Status undecodable = absl::InvalidArgumentError("the request is no LookupRequest");
  grpc::ByteBuffer readable(bytes);  // the same slices
  const WireScan scan = ScanLookupRequest(*OpenByteBuffer(readable));
  if (!scan.well_formed) return undecodable;
  if (absl::Status status = CheckUnknownFields(scan, limits); !status.ok()) return status;
  if (absl::Status status = CheckSegmentCount(scan.segments, limits); !status.ok()) return status;
  return request.ParseFromZeroCopyStream(OpenByteBuffer(readable).get()) ? absl::OkStatus() : undecodable;
}

absl::Status LookupReactor::Submit(const grpc::ByteBuffer& bytes, absl::Time deadline) {
  const absl::Time arrival = absl::Now();
  v1::LookupRequest request;
  if (absl::Status status = Decode(bytes, request); !status.ok()) return status;
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
    Append(frame);
    if (!frame.last()) return;
    outcome = Outcome(frame.head);
    if (outcome.ok()) reply_ = grpc::ByteBuffer(slices_.data(), slices_.size());
  }
  FinishOnce(outcome);
}

// Copied, so that the rows of an answer that is not whole yet count no more among the stream's unsent bytes.
void LookupReactor::Append(const ReplyFrame& frame) {
  slices_.emplace_back(EncodeUpToPayload(frame, v1::LookupReply::kFramesFieldNumber));
  bytes_ += slices_.back().size();
  if (frame.payload.size() > 0) slices_.emplace_back(frame.payload.data(), frame.payload.size());
  bytes_ += frame.payload.size();
  results_ += frame.head.results_size();
}

absl::Status LookupReactor::Outcome(const v1::StepReply& last) const {
  const auto code = static_cast<absl::StatusCode>(last.code());
  // A session that could not be closed costs nobody the rows: the code stays in the last frame.
  if (code != absl::StatusCode::kOk && code != absl::StatusCode::kAborted) return absl::Status(code, last.message());
  if (bytes_ <= kReplyBytesMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has ", bytes_, " bytes, a LookupReply at most ", kReplyBytesMax,
                   "; the sessions were written. Send fewer segments than ", results_, ", or use Stream"));
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
