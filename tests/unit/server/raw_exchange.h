// A call of any method with any bytes.

#ifndef ENGRAM_TESTS_UNIT_SERVER_RAW_EXCHANGE_H_
#define ENGRAM_TESTS_UNIT_SERVER_RAW_EXCHANGE_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/server/service_fixture.h"

namespace engram {

// One message to a method, one back; "" when the call ends without one.
inline std::string Exchange(TestServer& server, const std::string& method, const std::string& bytes,
                            grpc::Status& status) {
  grpc::GenericStub stub(server.channel());
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto call = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(&tag);
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  const grpc::Slice slice(bytes);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), &tag);
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::ByteBuffer answer;
  call->Read(&answer, &tag);
  const bool got = queue.Next(&tag, &ok) && ok;
  call->Finish(&status, &tag);
  EXPECT_TRUE(queue.Next(&tag, &ok));
  grpc::Slice whole;
  if (!got || !answer.DumpToSingleSlice(&whole).ok()) return "";
  return std::string(reinterpret_cast<const char*>(whole.begin()), whole.size());
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_RAW_EXCHANGE_H_
