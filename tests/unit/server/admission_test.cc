// What admission takes out of good requests.

#include "server/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Admission, FillsInTheStep) {
  TinyServer server;
  const Step step = Good(server.Admit(Request(R"(
      step_id: 77 format: ROW_FORMAT_BF16 timeout_ms: 250 table_version: 3 return_states: true
      segments { session_id: 7 token_ids: [1, 22, 3, 39] token_mask: "\1\1\0\1" }
      segments { session_id: 8 }
      segments { session_id: 0 token_ids: [5] })")));
  EXPECT_EQ(step.step_id, 77u);
  EXPECT_EQ(step.format, v1::ROW_FORMAT_BF16);
  EXPECT_EQ(step.deadline, absl::UnixEpoch() + absl::Milliseconds(250));
  EXPECT_THAT(step.layer_indices, ElementsAre(1, 0));  // decoder layers 1, 14
  EXPECT_EQ(step.tokens, 5u);
  EXPECT_EQ(step.reply_bytes, 5u * 2 * 6 * 64);
  EXPECT_TRUE(step.close_status.ok());
  EXPECT_THAT(step.sessions, SizeIs(2));  // the stateless one is in none

  ASSERT_THAT(step.segments, SizeIs(2));  // the empty one has no rows
  EXPECT_EQ(step.segments[0].token_begin, 0u);
  EXPECT_THAT(step.segments[0].window, ElementsAre(1, 2, kDead, 19));
  EXPECT_EQ(step.segments[0].lookback, 0u);
  EXPECT_EQ(step.segments[1].token_begin, 4u);
  EXPECT_EQ(step.segments[1].token_end(), 5u);

  ASSERT_THAT(step.results, SizeIs(3));
  EXPECT_EQ(step.results[0].session_id(), 7u);
  EXPECT_EQ(step.results[0].length(), 4u);
  EXPECT_EQ(step.results[0].state().position(), 4u);
  EXPECT_THAT(step.results[0].state().compressed_ids(), ElementsAre(2, -1, 19));
  EXPECT_EQ(step.results[0].state().constants_digest(), std::string(32, 'c'));
  EXPECT_EQ(step.results[1].length(), 0u);
  EXPECT_THAT(step.results[1].state().compressed_ids(), IsEmpty());
}

TEST(Admission, TheNextStepSeesTheHistory) {
  TinyServer server;
  Good(server.Admit(Request(R"(segments { session_id: 7 token_ids: [1, 2, 3, 4] token_mask: "\1\0\1\1" })")));
  const Step step = Good(server.Admit(Request("segments { session_id: 7 start_pos: 4 token_ids: [25] }")));
  ASSERT_THAT(step.segments, SizeIs(1));
  EXPECT_THAT(step.segments[0].window, ElementsAre(kDead, 3, 4, 5));
  EXPECT_EQ(step.segments[0].lookback, 3u);
  EXPECT_EQ(step.segments[0].tokens(), 1u);
  EXPECT_FALSE(step.results[0].has_state());
  EXPECT_EQ(step.deadline, absl::InfiniteFuture());
}

TEST(Admission, OwesExactlyTheRowsItSends) {
  TinyServer server;
  const std::string tokens = R"(segments { token_ids: [1, 2, 3, 4, 5] token_mask: "\1\0\0\1\0" })";
  EXPECT_EQ(Good(server.Admit(Request(tokens))).reply_bytes, 5u * 2 * 6 * 33);
  EXPECT_EQ(Good(server.Admit(Request(tokens + "omit_masked_rows: true"))).reply_bytes, 2u * 2 * 6 * 33);
  EXPECT_EQ(Good(server.Admit(Request(tokens + "layers: [14] format: ROW_FORMAT_HASH_IDS"))).reply_bytes, 5u * 6 * 8);
  EXPECT_EQ(Good(server.Admit(Request(""))).reply_bytes, 0u);
}

TEST(Admission, RefusedSegmentsKeepTheirPlaceButOweNothing) {
  TinyServer server;
  absl::StatusOr<Step> step = server.Admit(Request(R"(
      segments { session_id: 7 token_ids: [1, 2] }
      segments { session_id: 8 start_pos: 9 token_ids: [1, 2, 3] }
      segments { session_id: 9 token_ids: [4] })"));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->results[1].code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(step->results[1].session_id(), 8u);
  ASSERT_THAT(step->segments, SizeIs(2));
  EXPECT_EQ(step->segments[1].token_begin, 5u);  // counted over all tokens of the request
  EXPECT_EQ(step->tokens, 3u);
  EXPECT_EQ(step->reply_bytes, 3u * 2 * 6 * 33);
  EXPECT_EQ(server.sessions.sessions(), 2u);
}

TEST(Admission, MaskedIdsAreIgnoredWhateverTheyAre) {
  TinyServer server;
  const Step step = Good(server.Admit(Request(R"(segments {
      start_pos: 3 token_ids: [4294967295, 40, 39] token_mask: "\0\0\1"
      lookback { token_ids: [7, 4000000000, 8] token_mask: "\1\0\1" } })")));
  EXPECT_THAT(step.segments[0].window, ElementsAre(7, kDead, 8, kDead, kDead, 19));
}

TEST(Admission, SeedsByLookbackStateAndFork) {
  TinyServer server;
  Step step = Good(server.Admit(Request(R"(return_states: true
      segments { session_id: 7 start_pos: 5 token_ids: [30] lookback { token_ids: [21, 22, 23, 24] } })")));
  EXPECT_THAT(step.segments[0].window, ElementsAre(2, 3, 4, 10));

  v1::StepRequest hand_over = Request("segments { session_id: 8 start_pos: 6 token_ids: [11] }");
  *hand_over.mutable_segments(0)->mutable_state() = step.results[0].state();
  step = Good(server.Admit(hand_over, {2, "b"}));
  EXPECT_THAT(step.segments[0].window, ElementsAre(3, 4, 10, 11));

  step = Good(server.Admit(Request(R"(
      segments { session_id: 9 start_pos: 7 token_ids: [12] fork_from { session_id: 8 position: 7 client_id: "b" } }
      segments { start_pos: 8 token_ids: [13] fork_from { session_id: 9 position: 8 } })")));
  EXPECT_THAT(step.segments[0].window, ElementsAre(4, 10, 11, 12));
  EXPECT_THAT(step.segments[1].window, ElementsAre(10, 11, 12, 13));  // in request order
}

TEST(Admission, LongLookbackIsKeptWhole) {
  TinyServer server;
  Good(server.Admit(Request(
      "segments { session_id: 7 start_pos: 9 token_ids: [9] lookback { token_ids: [1, 2, 3, 4, 5, 6, 7, 8] } }")));
  const Step step = Good(server.Admit(Request("segments { session_id: 7 start_pos: 4 token_ids: [19] }")));
  EXPECT_THAT(step.segments[0].window, ElementsAre(1, 2, 3, 19));
}

TEST(Admission, ClosesAfterTheSegments) {
  TinyServer server;
  Good(server.Admit(Request("segments { session_id: 7 token_ids: [1] } close_sessions: [7, 8, 7]")));
  EXPECT_EQ(server.sessions.sessions(), 0u);
  EXPECT_EQ(server.sessions.history_bytes(), 0u);
}

TEST(Admission, ReportsASessionItCouldNotClose) {
  TinyServer server;
  const Step in_flight = Good(server.Admit(Request("segments { session_id: 7 token_ids: [1] }"), {1, "a"}));
  const Step step = Good(server.Admit(Request("close_sessions: [8, 7]"), {2, "a"}));
  EXPECT_EQ(step.close_status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(step.close_status.message(), "close_sessions[1]: session 7 has 1 step(s) in flight on another stream");
  EXPECT_EQ(server.sessions.sessions(), 1u);
}

TEST(Admission, HelloMustFit) {
  TinyServer server;
  v1::Hello hello;
  EXPECT_TRUE(server.admission.CheckHello(hello).ok());
  hello.set_client_id(std::string(256, 'x'));
  hello.set_model_name("tiny");
  hello.set_model_digest(std::string(32, 'm'));
  EXPECT_TRUE(server.admission.CheckHello(hello).ok());

  v1::Hello bad = hello;
  bad.set_client_id(std::string(257, 'x'));
  EXPECT_EQ(server.admission.CheckHello(bad),
            absl::InvalidArgumentError("hello.client_id: 257 bytes: must have at most 256"));
  bad.set_client_id(std::string(kPrivateClientPrefix) + "1");
  EXPECT_EQ(server.admission.CheckHello(bad), absl::InvalidArgumentError("hello.client_id: must be UTF-8"));
  bad = hello;
  bad.set_model_digest("short");
  EXPECT_EQ(server.admission.CheckHello(bad),
            absl::InvalidArgumentError("hello.model_digest: 5 bytes: must be empty or have 32"));
  bad.set_model_digest(std::string(32, 'n'));
  absl::Status status = server.admission.CheckHello(bad);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("6e6e"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("6d6d"));
  bad = hello;
  bad.set_model_name("other");
  EXPECT_EQ(server.admission.CheckHello(bad),
            absl::FailedPreconditionError("hello.model_name = \"other\": this server's is \"tiny\""));
  bad.set_model_name(std::string(100000, 'x'));
  EXPECT_EQ(server.admission.CheckHello(bad),
            absl::FailedPreconditionError("hello.model_name: 100000 bytes: this server's is \"tiny\""));
}

}  // namespace
}  // namespace engram
