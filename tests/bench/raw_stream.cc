#include "raw_stream.h"

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

constexpr char kStreamMethod[] = "/engram.v1.EngramLookup/Stream";

std::shared_ptr<grpc::Channel> OpenOwnChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

RawStream::RawStream(const std::string& address) : stub_(OpenOwnChannel(address)) {
  context_.set_wait_for_ready(true);
  call_ = stub_.PrepareCall(&context_, kStreamMethod, &queue_);
}

absl::StatusOr<std::unique_ptr<RawStream>> RawStream::Open(const std::string& address) {
  std::unique_ptr<RawStream> stream(new RawStream(address));
  stream->call_->StartCall(nullptr);
  v1::ClientMessage hello;
  hello.mutable_hello();
  grpc::ByteBuffer welcome;
  if (stream->Next() && stream->Write(hello) && stream->Read(welcome)) return stream;
  return absl::UnavailableError(absl::StrCat(address, ": no Welcome"));
}

RawStream::~RawStream() {
  context_.TryCancel();
  grpc::Status status;
  call_->Finish(&status, nullptr);
  Next();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

bool RawStream::Next() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

bool RawStream::Write(const v1::ClientMessage& message) {
  const grpc::Slice slice(message.SerializeAsString());
  call_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  return Next();
}

bool RawStream::Read(grpc::ByteBuffer& message) {
  call_->Read(&message, nullptr);
  return Next();
}

}  // namespace engram
