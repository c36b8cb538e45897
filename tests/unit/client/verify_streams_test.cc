// `engram verify` over several streams and servers: what it counts when all is well, and that each lie is found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "client/tool/traffic.h"
#include "client/tool/verify_streams.h"
#include "tests/unit/client/golden_oracle.h"
#include "tests/unit/client/plain_service.h"

namespace engram {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;

// Honest servers, or as many as there are faults.
class Streams {
 public:
  explicit Streams(const std::vector<PlainFaults>& faults) : oracle_(OpenCase("tiny")) {
    for (const PlainFaults& fault : faults) {
      services_.push_back(std::make_unique<PlainService>(oracle_, fault));
      servers_.push_back(services_.back()->Description());
    }
  }

  StreamsReport Run(const StreamsOptions& options) { return RunStreams(oracle_, {}, servers_, options); }
  const PlainService& service(size_t number) const { return *services_[number]; }

 private:
  Oracle oracle_;
  std::vector<std::unique_ptr<PlainService>> services_;
  std::vector<ServerUnderTest> servers_;
};

StreamsOptions Steps(uint64_t steps, size_t streams = 1) {
  StreamsOptions options;
  options.steps = steps;
  options.streams = streams;
  options.seed = 21;
  return options;
}

void ExpectRight(const StreamsReport& report, uint64_t steps) {
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_EQ(report.first_mismatch, "");
  EXPECT_EQ(report.counts.mismatches, 0u);
  EXPECT_EQ(report.counts.steps, steps);
  EXPECT_GT(report.counts.rows, 10000u);
}

TEST(VerifyStreamsTest, SharesStepsOutAndFinishedSessionsToo) {
  Streams streams({PlainFaults()});
  const StreamsReport report = streams.Run(Steps(605, 6));
  ExpectRight(report, 605);
  EXPECT_GT(report.traffic.foreign_forks, 0u);
  EXPECT_EQ(report.traffic.moves, 0u);
  EXPECT_EQ(report.traffic.draft_blocks, 0u);
}

TEST(VerifyStreamsTest, ClosesTheSessionsThatItsClientsOwn) {
  Streams streams({PlainFaults()});
  ExpectRight(streams.Run(Steps(300, 3)), 300);  // the fourth stream would be private
  EXPECT_EQ(streams.service(0).sessions(), 0u);
}

TEST(VerifyStreamsTest, ForksAsOftenAsAsked) {
  StreamsOptions options = Steps(400, 4);
  options.forks = 0.5;
  Streams streams({PlainFaults()});
  const StreamsReport report = streams.Run(options);
  ExpectRight(report, 400);
  EXPECT_GT(report.traffic.forks, 400u);
  EXPECT_GT(report.traffic.trees, 50u);
  EXPECT_GT(report.traffic.foreign_forks, 50u);
  options.forks = 0;
  EXPECT_EQ(streams.Run(options).traffic.forks, 0u);
}

TEST(VerifyStreamsTest, DraftsBlocksAndRejectsAPartOfThem) {
  StreamsOptions options = Steps(300);
  options.speculative = true;
  Streams streams({PlainFaults()});
  const StreamsReport report = streams.Run(options);
  ExpectRight(report, 300);
  EXPECT_GT(report.traffic.draft_blocks, 300u);
  EXPECT_GT(report.traffic.rejected_tokens, report.traffic.draft_tokens / 4);
  EXPECT_LT(report.traffic.rejected_tokens, report.traffic.draft_tokens * 3 / 4);
}

TEST(VerifyStreamsTest, FindsDraftsThatSurviveTheirRejection) {
  StreamsOptions options = Steps(300);
  options.speculative = true;
  PlainFaults faults;
  faults.forget_rewinds = true;
  EXPECT_GT(Streams({faults}).Run(options).counts.mismatches, 0u);
}

TEST(VerifyStreamsTest, MovesSequencesBetweenServers) {
  Streams streams({PlainFaults(), PlainFaults()});
  const StreamsReport report = streams.Run(Steps(400, 2));
  ExpectRight(report, 400);
  EXPECT_GT(report.traffic.moves, 50u);
}

TEST(VerifyStreamsTest, NamesTheStreamAndTheServerOfAFlippedBit) {
  PlainFaults faults;
  faults.flip_row = 9000;
  Streams streams({PlainFaults(), faults});
  const StreamsReport report = streams.Run(Steps(800, 8));
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_EQ(report.counts.mismatches, 1u);
  EXPECT_THAT(report.first_mismatch, MatchesRegex("stream [0-7]: 127.0.0.1:[0-9]+: session [0-9]+, position .*"));
  EXPECT_THAT(report.first_mismatch, HasSubstr(streams.service(1).Description().address));
}

TEST(VerifyStreamsTest, TakesCancelledForAnAnswer) {
  StreamsOptions options = Steps(400, 2);
  options.in_flight = 8;
  options.cancel = 0.5;
  Streams streams({PlainFaults()});
  const StreamsReport report = streams.Run(options);
  ExpectRight(report, 400);
  EXPECT_GT(report.counts.cancelled, 0u);
  EXPECT_EQ(report.counts.cancelled, streams.service(0).cancelled());
  EXPECT_GE(report.counts.cancels, report.counts.cancelled);
  EXPECT_LT(report.counts.cancels, 300u);
}

TEST(VerifyStreamsTest, ComparesTheRowsOfACancelledStep) {
  StreamsOptions options = Steps(400);
  options.in_flight = 8;
  options.cancel = 0.5;
  PlainFaults faults;
  faults.flip_cancelled = true;
  const StreamsReport report = Streams({faults}).Run(options);
  EXPECT_GT(report.counts.mismatches, 0u);
  EXPECT_LE(report.counts.mismatches, report.counts.cancels);
  EXPECT_THAT(report.first_mismatch, ContainsRegex("byte 5: expected|value 2: expected|received row id"));
}

TEST(VerifyStreamsTest, HoldsTheHistoryOfACancelledStepAgainstTheServer) {
  StreamsOptions options = Steps(400);
  options.in_flight = 8;
  options.cancel = 0.5;
  PlainFaults faults;
  faults.forget_cancelled = true;
  EXPECT_GT(Streams({faults}).Run(options).counts.mismatches, 0u);
}

TEST(VerifyStreamsTest, EndsAllStreamsWhenOneCannotConnect) {
  Streams streams({PlainFaults()});
  std::vector<ServerUnderTest> servers = {streams.service(0).Description()};
  servers.front().model.set_model_digest(std::string(32, 'x'));
  servers.front().address = "127.0.0.1:1";
  const Oracle oracle = OpenCase("tiny");
  const StreamsReport report = RunStreams(oracle, {}, servers, Steps(100, 2));
  EXPECT_FALSE(report.status.ok());
  EXPECT_EQ(report.counts.steps, 0u);
}

TEST(TrafficTest, KeepsAStepsReplyBelowItsBound) {
  const Oracle oracle = OpenCase("tiny");
  TrafficOptions options;
  options.formats = {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS};
  options.reply_bytes_max = 20000;
  options.fork = true;
  options.forks = 0.3;
  RandomTokens source(oracle.constants(), {});
  Handovers handovers;
  Traffic traffic(oracle, source, handovers, nullptr, options);
  uint64_t largest = 0;
  for (int i = 0; i < 500; ++i) largest = std::max(largest, traffic.Next().reply_bytes);
  EXPECT_LE(largest, 20000u);
  EXPECT_GT(largest, 10000u);
}

}  // namespace
}  // namespace engram
