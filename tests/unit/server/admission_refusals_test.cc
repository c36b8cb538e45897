// Bad requests: each gets its code and a message that names field, value and bound, and changes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/server/bad_requests.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Refusals : public ::testing::TestWithParam<BadRequest> {
 protected:
  void SetUp() override {
    Prepare("segments { session_id: 7 token_ids: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }", 1);
    Prepare("segments { session_id: 20 start_pos: 20 token_ids: [0] lookback { token_ids: [17, 18, 19] } }", 1);
    elsewhere_ = Prepare("segments { session_id: 30 token_ids: [0] }", 2);
    bytes_ = server_.sessions.history_bytes();
  }

  Step Prepare(const std::string& request, uint64_t stream_id) {
    absl::StatusOr<Step> step = server_.Admit(Request(request), {stream_id, "a"});
    EXPECT_TRUE(step.ok()) << step.status();
    return *std::move(step);
  }

  // The next good call sees session 7 as it was.
  void ExpectUnchanged() {
    const Step step = Prepare("return_states: true segments { session_id: 7 start_pos: 10 token_ids: [11] }", 1);
    ASSERT_EQ(step.results[0].code(), 0) << step.results[0].message();
    EXPECT_THAT(step.segments[0].window, ElementsAre(7, 8, 9, 11));
    const Step whole = Prepare("segments { session_id: 7 start_pos: 4 token_ids: [11] }", 1);
    EXPECT_THAT(whole.segments.at(0).window, ElementsAre(1, 2, 3, 11));
  }

  TinyServer server_;
  Step elsewhere_;
  uint64_t bytes_ = 0;
};

TEST_P(Refusals, NamesTheFaultAndChangesNothing) {
  const BadRequest& bad = GetParam();
  const v1::StepRequest request = Request(bad.request);
  {
    absl::StatusOr<Step> step = server_.Admit(request);
    if (bad.segment == kWholeStep) {
      EXPECT_EQ(step.status().code(), bad.code) << step.status();
      EXPECT_THAT(std::string(step.status().message()), HasSubstr(bad.message));
    } else {
      ASSERT_TRUE(step.ok()) << step.status();
      const v1::SegmentResult& result = step->results.at(static_cast<size_t>(bad.segment));
      EXPECT_EQ(result.code(), static_cast<int>(bad.code)) << result.message();
      EXPECT_THAT(result.message(), HasSubstr(bad.message));
      EXPECT_EQ(result.session_id(), request.segments(bad.segment).session_id());
      EXPECT_EQ(result.length(), 0u);
      EXPECT_FALSE(result.has_state());
    }
  }
  EXPECT_TRUE(server_.sessions.Close({"a", 50}, 1).ok());  // a good neighbour's, where there was one
  EXPECT_EQ(server_.sessions.history_bytes(), bytes_);
  ExpectUnchanged();
}

INSTANTIATE_TEST_SUITE_P(Requests, Refusals, ::testing::ValuesIn(kBadRequests),
                         [](const auto& bad) { return std::string(bad.param.name); });

TEST(AdmissionRoom, NamesWhatIsFull) {
  TinyServer server;
  const v1::StepRequest request = Request("segments { session_id: 7 token_ids: [1, 2] }");
  StepRoom room = TinyServer::Room();
  room.steps_free = 0;
  EXPECT_EQ(server.Admit(request, {1, "a"}, room).status(),
            absl::ResourceExhaustedError("one step more: steps_in_flight_max 8 of this stream are not answered yet"));
  room = TinyServer::Room();
  room.bytes_free = 2 * 2 * 6 * 33 - 1;
  EXPECT_EQ(server.Admit(request, {1, "a"}, room).status(),
            absl::ResourceExhaustedError("the step asks for 792 bytes: 791 are free of this stream's "
                                         "bytes_in_flight_max 2097152"));
  room.tokens_max = 1;
  room.tokens_max_name = "lookup_tokens_max";
  EXPECT_EQ(server.Admit(request, {1, "a"}, room).status(),
            absl::ResourceExhaustedError("the step has 2 tokens, 0 of them long look-back: lookup_tokens_max is 1"));
  EXPECT_EQ(server.sessions.sessions(), 0u);
  room = TinyServer::Room();
  room.bytes_free = 2 * 2 * 6 * 33;
  EXPECT_TRUE(server.Admit(request, {1, "a"}, room).ok());
}

TEST(AdmissionRoom, OmittedRowsNeedNone) {
  TinyServer server;
  StepRoom room = TinyServer::Room();
  room.bytes_free = 0;
  const std::string masked = R"(segments { token_ids: [1, 2] token_mask: "\0\0" })";
  EXPECT_TRUE(server.Admit(Request(masked + "omit_masked_rows: true"), {1, "a"}, room).ok());
  EXPECT_EQ(server.Admit(Request(masked), {1, "a"}, room).status().code(), kExhausted);
}

TEST(AdmissionFormats, OnlyWhatTheCombineModeServes) {
  v1::Model model = TinyModel();
  model.clear_formats();
  model.add_formats(v1::ROW_FORMAT_BF16);
  model.set_combine("ALL_REDUCE_BF16");
  TinyServer server(model);
  EXPECT_TRUE(server.Admit(Request("format: ROW_FORMAT_BF16")).ok());
  const absl::Status status = server.Admit(Request("")).status();
  EXPECT_EQ(status.code(), kPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("format = ROW_FORMAT_PACKED: this server combines by ALL_REDUCE_BF16"));
}

}  // namespace
}  // namespace engram
