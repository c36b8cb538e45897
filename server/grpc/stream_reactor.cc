#include "server/grpc/stream_reactor.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/time/clock.h"
#include "server/grpc/status.h"
#include "server/grpc/wire.h"

namespace engram {

void StreamReactor::Start() {
  spdlog::debug("stream of {}: open", peer_);
  Read();
}

void StreamReactor::OnReadDone(bool ok) {
  if (!ok) return call_->OnHalfClose();
  const absl::Time arrival = absl::Now();
  grpc::ByteBuffer bytes;
  bytes.Swap(&read_buffer_);  // the next read may begin before this returns
  call_->OnBytes([&bytes] { return OpenByteBuffer(bytes); }, arrival);
}

void StreamReactor::OnWriteDone(bool ok) {
  write_buffer_.Clear();  // before the next write is started
  call_->OnWritten(ok);
}

void StreamReactor::OnDone() {
  call_->OnDone();
  delete this;
}

void StreamReactor::Write(OutMessage message) {
  grpc::WriteOptions options;
  if (message.may_wait) options.set_buffer_hint();
  write_buffer_ = ToByteBuffer(std::move(message));
  StartWrite(&write_buffer_, options);
}

void StreamReactor::Finish(const absl::Status& status) {
  spdlog::debug("stream of {}: ends with {}", peer_, status.ToString());
  ServerBidiReactor::Finish(ToGrpcStatus(status));
}

}  // namespace engram
