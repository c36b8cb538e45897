#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shard/rank_report.h"
#include "shard/round_header.h"

namespace engram {
namespace {

using ::testing::HasSubstr;

RoundExpectation Expected() { return {7, CombineMode::kOwnerGather, 100, 4}; }

RoundHeader Good() {
  RoundHeader header;
  header.asking_rank = 3;
  header.sequence = 7;
  header.op = RoundOp::kGather;
  header.rows = 100;
  header.rows_of_rank = 100;
  return header;
}

void ExpectRefused(const RoundHeader& header, const std::string& why) {
  const absl::Status status = ValidateHeader(header, Expected());
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr(why));
}

TEST(RoundHeader, GoodOnesPass) { EXPECT_EQ(ValidateHeader(Good(), Expected()), absl::OkStatus()); }

TEST(RoundHeader, EveryFieldIsChecked) {
  RoundHeader header = Good();
  header.magic = 0;
  ExpectRefused(header, "magic is 0");
  header = Good();
  header.asking_rank = 4;
  ExpectRefused(header, "asking rank is 4, expected less than 4");
  header = Good();
  header.sequence = 8;
  ExpectRefused(header, "sequence is 8, expected 7");
  header = Good();
  header.op = static_cast<RoundOp>(0);
  ExpectRefused(header, "operation is 0");
  header.op = static_cast<RoundOp>(4);
  ExpectRefused(header, "operation is 4, expected at most 3");
  header = Good();
  header.combine = CombineMode::kAllReduceBf16;
  ExpectRefused(header, "combine mode is 0, expected 2");
  header = Good();
  header.rows = 101;
  ExpectRefused(header, "rows is 101, expected at most 100");
  header = Good();
  header.rows = 5;
  header.rows_of_rank = 6;
  ExpectRefused(header, "rows of this rank is 6, expected at most 5");
}

TEST(RankReport, CarriesAStatus) {
  EXPECT_EQ(StatusOf(ReportOf(absl::OkStatus())), absl::OkStatus());
  EXPECT_EQ(StatusOf(ReportOf(absl::DataLossError("gone"))), absl::DataLossError("gone"));
  EXPECT_EQ(StatusOf(ReportOf(absl::DataLossError("gone")), 3), absl::DataLossError("rank 3: gone"));
}

TEST(RankReport, CutsLongMessagesAndBelievesNoLength) {
  RankReport report = ReportOf(absl::InternalError(std::string(1000, 'x')));
  EXPECT_EQ(StatusOf(report), absl::InternalError(std::string(504, 'x')));
  report.length = 4'000'000'000u;
  EXPECT_EQ(StatusOf(report).message().size(), 504u);
}

TEST(RankReport, UnknownCodesAreInternal) {
  RankReport report = ReportOf(absl::InternalError("x"));
  report.code = 99;
  EXPECT_EQ(StatusOf(report).code(), absl::StatusCode::kInternal);
  report.code = -1;
  EXPECT_EQ(StatusOf(report).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace engram
