// How long a stream may have its place without a Hello.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/server/stream_bounds.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

using HelloTimeout = StreamBounds;

TEST_F(HelloTimeout, AStreamWithoutHelloGivesWayAfterItsTime) {
  StreamRegistry registry(2, absl::ZeroDuration());
  Wire wires[4];
  std::shared_ptr<StreamCall> calls[4];
  for (int i = 0; i < 4; ++i) calls[i] = std::make_shared<StreamCall>(context_, registry, wires[i]);
  ASSERT_TRUE(registry.Add(calls[0]).ok());
  ASSERT_TRUE(registry.Add(calls[1]).ok());
  SendHello(*calls[0], wires[0]);
  ASSERT_TRUE(registry.Add(calls[2]).ok());
  EXPECT_FALSE(wires[0].end.has_value());
  ASSERT_TRUE(wires[1].end.has_value());
  EXPECT_EQ(*wires[1].end, absl::DeadlineExceededError("no Hello for hello_timeout_ms = 0, and another stream wants "
                                                       "the place"));
  SendHello(*calls[2], wires[2]);
  EXPECT_EQ(registry.Add(calls[3]).code(), absl::StatusCode::kResourceExhausted) << "both have said it";
  calls[1]->OnDone();  // counted no more before it went
  EXPECT_EQ(registry.Add(calls[3]).code(), absl::StatusCode::kResourceExhausted);
  wires[0].writing = wires[2].writing = false;
  for (int i : {0, 2}) {
    calls[i]->OnCancel();
    calls[i]->OnDone();
  }
  EXPECT_EQ(registry.streams(), 0u);
}

TEST_F(HelloTimeout, AStreamWithoutHelloKeepsItsPlaceUntilThen) {
  StreamRegistry registry(1, absl::Hours(1));
  Wire wires[2];
  const auto first = std::make_shared<StreamCall>(context_, registry, wires[0]);
  const auto second = std::make_shared<StreamCall>(context_, registry, wires[1]);
  ASSERT_TRUE(registry.Add(first).ok());
  EXPECT_THAT(std::string(registry.Add(second).message()), HasSubstr("streams_max = 1"));
  EXPECT_FALSE(wires[0].end.has_value());
  first->OnCancel();
  first->OnDone();
}

}  // namespace
}  // namespace engram
