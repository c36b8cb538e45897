// Whole runs in a closed loop: every profile, wrong bytes, chance, replay, refusals.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/client/load_fixture.h"

namespace engram {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class FlippingServiceTest : public LoadRunTest {
 protected:
  static PlainFaults Flip() {
    PlainFaults faults;
    faults.flip_row = 3000;
    return faults;
  }
  FlippingServiceTest() : LoadRunTest(Flip()) {}
};

TEST_F(LoadRunTest, EveryProfileIsServedAndRight) {
  for (const auto& [profile, kind] :
       std::vector<std::pair<ProfileKind, StepKind>>{{ProfileKind::kDecode, StepKind::kDecode},
                                                     {ProfileKind::kPrefill, StepKind::kPrefill},
                                                     {ProfileKind::kSpeculative, StepKind::kSpeculative}}) {
    options_.profile = profile;
    options_.tokens = 32;
    options_.batch = 3;
    options_.streams = 2;
    options_.in_flight = 2;
    const LoadReport report = Go();
    EXPECT_GT(report.total.of(kind).ok, 10u);
    EXPECT_EQ(report.total.All().ok, report.total.of(kind).ok);
    EXPECT_EQ(report.total.ErrorRate(), 0) << report.total.first_error;
    EXPECT_EQ(report.checked->failure, "");
    EXPECT_GE(report.checked->steps, report.total.All().ok);
    EXPECT_EQ(report.ended, "duration");
    EXPECT_EQ(report.stages, std::nullopt) << "this service has no EngramAdmin";
    EXPECT_NEAR(absl::ToDoubleSeconds(report.measured), 0.3, 0.2);
    const uint64_t token_rows = uint64_t{oracle_.geometry().columns()} * oracle_.geometry().layers();
    EXPECT_EQ(report.total.All().rows, report.total.All().tokens * token_rows);
    EXPECT_EQ(report.total.All().bytes, report.total.All().rows * oracle_.geometry().packed_row_bytes());
  }
}

TEST_F(LoadRunTest, MixedHasBothKinds) {
  options_.profile = ProfileKind::kMixed;
  options_.streams = 2;
  options_.tokens = 16;
  const LoadReport report = Go();
  EXPECT_GT(report.total.of(StepKind::kDecode).ok, 0u);
  EXPECT_GT(report.total.of(StepKind::kPrefill).ok, 0u);
  EXPECT_EQ(report.checked->failure, "");
}

TEST_F(FlippingServiceTest, AWrongByteEndsTheRunAndIsNamed) {
  options_.duration = absl::Seconds(60);
  options_.batch = 4;
  const LoadReport report = Go();
  EXPECT_EQ(report.ended, "wrong bytes");
  EXPECT_THAT(report.checked->failure,
              MatchesRegex("stream 0, step [0-9]+: session [0-9]+, position [0-9]+, token [0-9]+, layer [0-9]+, column "
                           "[0-9]+, row [0-9]+, byte 5: expected 0x[0-9a-f]+, received 0x[0-9a-f]+"));
  EXPECT_LT(report.measured, absl::Seconds(30));
}

TEST_F(LoadRunTest, CancelsAndReconnectsAreNoErrors) {
  options_.profile = ProfileKind::kSpeculative;
  options_.duration = absl::Milliseconds(800);
  options_.in_flight = 4;
  options_.cancel_fraction = 0.5;
  options_.reconnect_every = absl::Milliseconds(50);
  const LoadReport report = Go();
  EXPECT_GT(report.reconnections, 2u);
  EXPECT_GT(report.total.All().cancelled, 0u);
  EXPECT_GT(report.total.All().ok, 0u);
  EXPECT_EQ(report.total.ErrorRate(), 0) << report.total.first_error;
  EXPECT_EQ(report.checked->failure, "");
}

TEST_F(LoadRunTest, StopsWhenAsked) {
  std::atomic<bool> stop{false};
  options_.stop = &stop;
  options_.duration = absl::InfiniteDuration();
  std::thread asker([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  const LoadReport report = Go();
  asker.join();
  EXPECT_EQ(report.ended, "interrupted");
  EXPECT_GT(report.total.All().ok, 0u);
  EXPECT_LT(report.measured, absl::Seconds(5));
}

TEST_F(LoadRunTest, RecordsWhatAReplaySendsAgain) {
  const std::string path = testing::TempDir() + "/load_run_record.jsonl";
  auto recorder = StepRecorder::Create(path);
  ASSERT_TRUE(recorder.ok());
  options_.recorder = recorder->get();
  options_.profile = ProfileKind::kSpeculative;
  options_.streams = 2;
  options_.session_tokens = 50;
  const uint64_t recorded = Go().checked->steps;
  ASSERT_TRUE((*recorder)->Close().ok());
  const auto steps = ReadReplay(path);
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), recorded);
  options_.recorder = nullptr;
  options_.profile = ProfileKind::kReplay;
  options_.replay = *steps;
  options_.warm_up = absl::ZeroDuration();
  options_.duration = absl::InfiniteDuration();
  const LoadReport report = Go();
  EXPECT_EQ(report.ended, "end of the replay");
  EXPECT_EQ(report.checked->failure, "");
  EXPECT_EQ(report.checked->steps, recorded);
  EXPECT_EQ(report.total.of(StepKind::kSpeculative).ok, recorded);
}

TEST_F(LoadRunTest, NamesOptionValueAndBound) {
  const std::vector<std::pair<std::function<void(LoadOptions&)>, std::string>> cases = {
      {[](LoadOptions& o) { o.sessions = 5, o.streams = 2, o.in_flight = 3; },
       "--sessions is 5; it must be at least --streams x --in-flight x segments a step = 6"},
      {[](LoadOptions& o) { o.profile = ProfileKind::kMixed; }, "--streams is 1"},
      {[](LoadOptions& o) { o.profile = ProfileKind::kSpeculative, o.session_tokens = 5; },
       "--session-tokens is 5; it must be at least the tokens of a segment, 6"},
      {[](LoadOptions& o) {
         o.texts = {{1, 999}};
       },
       "--tokens-from: text 0: tokens[1] is 999"}};
  for (const auto& [change, message] : cases) {
    LoadOptions options = options_;
    change(options);
    const auto report = RunLoad(options);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(message));
  }
  options_.server = "127.0.0.1:1";
  EXPECT_FALSE(RunLoad(options_).ok());
}

}  // namespace
}  // namespace engram
