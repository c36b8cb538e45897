// What Lookup says of requests that it does not decode.

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/raw_exchange.h"
#include "tests/unit/server/service_fixture.h"

namespace engram {
namespace {

TEST(LookupBytesTest, LookupIsLookedAtBeforeItIsDecoded) {
  TestServer server({"streams.segments_max=3"});
  server.Serve();
  const std::string method = "/engram.v1.EngramLookup/Lookup";
  const std::string four_segments("\x12\x08\x12\x00\x12\x00\x12\x00\x12\x00", 10);
  struct Case {
    std::string bytes;
    grpc::StatusCode code;
    std::string message;
  };
  const Case kCases[] = {
      {"\xff\xff\xff", grpc::StatusCode::INVALID_ARGUMENT, "the request is no LookupRequest"},
      {"\x0a\x03\x0a\x01\xff", grpc::StatusCode::INVALID_ARGUMENT, "the request is no LookupRequest"},
      {four_segments, grpc::StatusCode::RESOURCE_EXHAUSTED, "segments: 4 of them: segments_max is 3"},
      {std::string(67841, '\0'), grpc::StatusCode::RESOURCE_EXHAUSTED,
       "the request has 67841 bytes: a Lookup may have 67840; use Stream"},
  };
  for (const Case& bad : kCases) {
    grpc::Status status;
    EXPECT_EQ(Exchange(server, method, bad.bytes, status), "");
    EXPECT_EQ(status.error_code(), bad.code) << status.error_message();
    EXPECT_EQ(status.error_message(), bad.message);
  }
  grpc::Status status;
  const std::string answer = Exchange(server, method, "", status);
  EXPECT_TRUE(status.ok()) << status.error_message();
  v1::LookupReply reply;
  EXPECT_TRUE(reply.ParseFromString(answer) && reply.frames_size() == 1 && reply.frames(0).last());
}

}  // namespace
}  // namespace engram
