#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/load/replay_file.h"
#include "client/load/replay_profile.h"

namespace engram {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSteps[] = R"({"at_ms": 0, "segments": [{"session": 5, "start": 0, "tokens": [1, 2, 3]}]}
{"at_ms": 1.5, "stream": 1, "kind": "speculative", "segments": [{"session": 9, "start": 7, )"
                          R"("lookback": [4, 5, 6], "tokens": [7]}]}

{"at_ms": 2, "segments": [{"session": 5, "start": 2, "tokens": [8]}, )"
                          R"({"session": 6, "start": 0, "tokens": []}], "close": [5]}
{"at_ms": 3, "segments": [{"session": 5, "start": 0, "tokens": [9]}]}
)";

Geometry Small() {
  Geometry geometry;
  geometry.max_ngram_size = 4;
  geometry.vocab_size = 10;
  return geometry;
}

std::vector<ReplayStep> Parsed(const std::string& text) {
  auto steps = ParseReplay(text, "f");
  EXPECT_TRUE(steps.ok()) << steps.status();
  return steps.ok() ? *std::move(steps) : std::vector<ReplayStep>();
}

TEST(ReplayFileTest, ReadsWhatIsThere) {
  const std::vector<ReplayStep> steps = Parsed(kSteps);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].kind, StepKind::kPrefill);  // three tokens
  EXPECT_EQ(steps[1].kind, StepKind::kSpeculative);
  EXPECT_EQ(steps[2].kind, StepKind::kDecode);
  EXPECT_EQ(steps[1].stream, 1u);
  EXPECT_EQ(steps[1].at, absl::Microseconds(1500));
  EXPECT_THAT(steps[1].segments[0].lookback, ElementsAre(4, 5, 6));
  EXPECT_EQ(steps[2].line, 4u);
  EXPECT_EQ(steps[2].segments[1].tokens.size(), 0u);
  EXPECT_THAT(steps[2].closed, ElementsAre(5));
}

TEST(ReplayFileTest, NamesLineKeyValueAndBound) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f: holds no steps"},
      {"\n[1]", "f:2"},
      {R"({"segments": 1})", "f:1: segments must be an array"},
      {R"({"segments": [], "layers": []})", "f:1: unknown key 'layers'"},
      {R"({"segments": [{"session": 0, "start": 0, "tokens": []}]})",
       "session is 0; it must be a whole number from 1 to"},
      {R"({"segments": [{"session": 1, "tokens": []}]})", "f:1: segments[0]: start is missing"},
      {R"({"segments": [{"session": 1, "start": -1, "tokens": []}]})", "start is -1; it must be a whole number from 0"},
      {R"({"segments": [{"session": 1, "start": 0, "tokens": [1, "x"]}]})", "tokens[1] is \"x\""},
      {R"({"segments": [{"session": 1, "start": 0, "tokens": [4294967296]}]})", "from 0 to 4294967295"},
      {R"({"segments": [{"session": 1, "start": 0, "tokens": []}, {"session": 1, "start": 0, "tokens": []}]})",
       "segments[1]: session 1 is in the step already"},
      {R"({"segments": [], "stream": 1024})", "stream is 1024; it must be a whole number from 0 to 1023"},
      {R"({"segments": [], "kind": "verify"})", "kind is \"verify\"; it must be one of decode, prefill, speculative"},
      {R"({"segments": [], "at_ms": -1})", "at_ms is -1; it must be a number from 0"},
      {"{\"segments\": [], \"at_ms\": 2}\n{\"segments\": [], \"at_ms\": 1}", "f:2: at_ms is 1; it must be at least 2"},
      {R"({"segments": [], "close": [0]})", "close[0] is 0"}};
  for (const auto& [text, message] : cases) {
    const auto steps = ParseReplay(text, "f");
    EXPECT_EQ(steps.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(steps.status().message()), HasSubstr(message)) << text;
  }
}

TEST(ReplayFileTest, AWrittenLineIsReadAgain) {
  LoadSession session(77, 3, 100);
  LoadStep step;
  step.kind = StepKind::kSpeculative;
  session.Append(step, {3, 1, 4});
  session.Close(step);
  const std::string line = ReplayLine(2, step, absl::Microseconds(12345));
  EXPECT_EQ(line,
            "{\"at_ms\": 12.345, \"stream\": 2, \"kind\": \"speculative\", \"segments\": [{\"session\": 77, \"start\": "
            "0, \"tokens\": [3,1,4]}], \"close\": [77]}\n");
  const std::vector<ReplayStep> steps = Parsed(line);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].at, absl::Microseconds(12345));
  EXPECT_EQ(steps[0].kind, StepKind::kSpeculative);
  EXPECT_THAT(steps[0].segments[0].tokens, ElementsAre(3, 1, 4));
  EXPECT_THAT(steps[0].closed, ElementsAre(77));
}

TEST(StepRecorderTest, WritesAndSaysWhenItCannot) {
  const std::string path = testing::TempDir() + "/load_record.jsonl";
  auto recorder = StepRecorder::Create(path);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  LoadStep step;
  (*recorder)->Write(0, step, absl::ZeroDuration());
  (*recorder)->Write(1, step, absl::Milliseconds(1));
  ASSERT_TRUE((*recorder)->Close().ok());
  const auto steps = ReadReplay(path);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(steps->size(), 2u);
  EXPECT_THAT(std::string(StepRecorder::Create("/no/folder/file").status().message()), HasSubstr("/no/folder/file"));
  auto full = StepRecorder::Create("/dev/full");
  ASSERT_TRUE(full.ok());
  (*full)->Write(0, step, absl::ZeroDuration());
  EXPECT_EQ((*full)->Close().code(), absl::StatusCode::kUnavailable);
}

TEST(ReplayProfileTest, SendsTheStepsOfItsStream) {
  const std::vector<ReplayStep> steps = Parsed(kSteps);
  ASSERT_TRUE(CheckReplay(steps, Small(), "f").ok());
  ReplayProfile profile(steps, 0, 3);
  const auto first = profile.Next();
  const auto second = profile.Next();
  const auto third = profile.Next();
  ASSERT_TRUE(first.has_value() && second.has_value() && third.has_value());
  EXPECT_TRUE(profile.ended());
  EXPECT_FALSE(profile.Next().has_value());
  EXPECT_EQ(second->segments[0].start_pos, 2u);  // a rollback by one
  EXPECT_THAT(second->segments[0].lookback, ElementsAre(1, 2));
  EXPECT_THAT(second->step.request.close_sessions(), ElementsAre(5));
  EXPECT_EQ(third->segments[0].start_pos, 0u);
  ReplayProfile other(steps, 1, 3);
  const auto seeded = other.Next();
  ASSERT_TRUE(seeded.has_value());
  EXPECT_EQ(seeded->segments[0].start_pos, 7u);
  EXPECT_THAT(seeded->segments[0].lookback, ElementsAre(4, 5, 6));
}

TEST(ReplayProfileTest, RecordedTimesAreTheStarts) {
  const std::vector<ReplayStep> steps = Parsed(kSteps);
  const Arrivals arrivals = RecordedArrivals(steps, 0);
  EXPECT_EQ(arrivals(), absl::ZeroDuration());
  EXPECT_EQ(arrivals(), absl::Milliseconds(2));
  EXPECT_EQ(arrivals(), absl::Milliseconds(3));
  EXPECT_EQ(arrivals(), std::nullopt);
}

TEST(CheckReplayTest, NamesWhatNoServerWouldTake) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"segments": [{"session": 1, "start": 0, "tokens": [9, 10]}]})",
       "f:1: tokens[1] is 10; it must be below vocab_size 10"},
      {R"({"segments": [{"session": 1, "start": 3, "lookback": [1, 2, 11], "tokens": [1]}]})",
       "f:1: lookback[2] is 11; it must be below vocab_size 10"},
      {R"({"segments": [{"session": 4, "start": 3, "tokens": [1]}]})",
       "f:1: session 4: position 3 is behind its length 0"},
      {R"({"segments": [{"session": 1, "start": 3, "lookback": [1], "tokens": [1]}]})", "must be at least 3"}};
  for (const auto& [text, message] : cases) {
    const absl::Status status = CheckReplay(Parsed(text), Small(), "f");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace engram
