#include "client/load/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "client/load/load_session.h"

namespace engram {
namespace {

using testing::ElementsAre;

// Each session counts up from 1000 x its number, so that a token tells whose it is and which.
class CountingPool : public TokenPool {
 public:
  std::unique_ptr<TokenDraw> Begin(LoadRandom&) const override {
    class Count : public TokenDraw {
     public:
      explicit Count(uint32_t first) : next_(first) {}
      uint32_t Next(LoadRandom&) override { return next_++; }

     private:
      uint32_t next_;
    };
    return std::make_unique<Count>(1000 * ++begun_);
  }

 private:
  mutable uint32_t begun_ = 0;
};

// What a server knows of each session, and what it would refuse.
class Histories {
 public:
  void Take(const LoadStep& step, size_t lookback_max) {
    const v1::StepRequest& request = step.step.request;
    ASSERT_EQ(request.segments_size(), static_cast<int>(step.segments.size()));
    std::set<uint64_t> seen;
    for (size_t i = 0; i < step.segments.size(); ++i) {
      const LoadSegment& segment = step.segments[i];
      ASSERT_TRUE(seen.insert(segment.session_id).second) << "a session twice in a step";
      EXPECT_EQ(request.segments(static_cast<int>(i)).session_id(), segment.session_id);
      EXPECT_EQ(request.segments(static_cast<int>(i)).start_pos(), segment.start_pos);
      std::vector<uint32_t>& history = of_[segment.session_id];
      ASSERT_LE(segment.start_pos, history.size()) << "a gap";
      history.resize(segment.start_pos);
      const size_t lookback = std::min(lookback_max, history.size());
      EXPECT_EQ(segment.lookback,
                std::vector<uint32_t>(history.end() - static_cast<std::ptrdiff_t>(lookback), history.end()));
      history.insert(history.end(), segment.tokens.begin(), segment.tokens.end());
    }
    for (const uint64_t session_id : request.close_sessions()) of_.erase(session_id);
  }
  size_t LengthOf(uint64_t session_id) { return of_[session_id].size(); }

 private:
  std::map<uint64_t, std::vector<uint32_t>> of_;
};

SessionProfileOptions Options(StepKind kind, size_t sessions, size_t segments, size_t tokens, uint64_t length) {
  SessionProfileOptions options;
  options.kind = kind;
  options.sessions = sessions;
  options.segments = segments;
  options.tokens = tokens;
  options.session_tokens = length;
  options.session_ids_from = 100;
  return options;
}

TEST(LoadSessionTest, KeepsTheTokensBeforeEachSegment) {
  LoadSession session(7, 3, 8);
  LoadStep step;
  session.Append(step, {1, 2});
  session.Append(step, {3, 4, 5});
  session.Append(step, {6});
  ASSERT_TRUE(session.RewindTo(4).ok());
  session.Append(step, {9});
  ASSERT_EQ(step.segments.size(), 4u);
  EXPECT_THAT(step.segments[0].lookback, ElementsAre());
  EXPECT_THAT(step.segments[1].lookback, ElementsAre(1, 2));
  EXPECT_THAT(step.segments[2].lookback, ElementsAre(3, 4, 5));
  EXPECT_THAT(step.segments[3].lookback, ElementsAre(2, 3, 4));
  EXPECT_EQ(step.segments[3].start_pos, 4u);
  EXPECT_EQ(step.tokens, 7u);
  EXPECT_EQ(session.RewindTo(6).code(), absl::StatusCode::kInvalidArgument);
}

TEST(LoadSessionTest, ForgetsWhatIsTooFarBack) {
  LoadSession session(7, 3, 4);
  LoadStep step;
  for (uint32_t i = 0; i < 1000; ++i) session.Append(step, {i});
  EXPECT_EQ(session.RewindTo(10).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(session.RewindTo(995).ok());
  session.Append(step, {5});
  EXPECT_THAT(step.segments.back().lookback, ElementsAre(992, 993, 994));
}

TEST(SessionProfileTest, DecodeGivesOneTokenToEachOfTheSessionsThatWaitedLongest) {
  const CountingPool pool;
  SessionProfile profile(Options(StepKind::kDecode, 4, 2, 1, 100), pool);
  const auto first = profile.Next();
  const auto second = profile.Next();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_FALSE(profile.Next().has_value()) << "all four sessions are under way";
  EXPECT_THAT(first->segments[0].tokens, ElementsAre(1000));
  EXPECT_THAT(second->segments[1].tokens, ElementsAre(4000));
  EXPECT_EQ(first->segments[0].session_id, 101u);
  EXPECT_EQ(first->tokens, 2u);
  profile.Done(*second);
  const auto third = profile.Next();
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->segments[0].session_id, 103u);
  EXPECT_EQ(third->segments[0].start_pos, 1u);
  EXPECT_THAT(third->segments[0].lookback, ElementsAre(3000));
  EXPECT_FALSE(profile.ended());
}

TEST(SessionProfileTest, PrefillGrowsSessionsChunkByChunk) {
  const CountingPool pool;
  SessionProfile profile(Options(StepKind::kPrefill, 1, 1, 10, 40), pool);
  Histories histories;
  std::set<uint64_t> starts;
  int closed = 0;
  for (int i = 0; i < 200; ++i) {
    const auto step = profile.Next();
    ASSERT_TRUE(step.has_value());
    EXPECT_EQ(step->tokens, 10u);
    histories.Take(*step, 3);
    starts.insert(step->segments[0].start_pos);
    closed += step->step.request.close_sessions_size();
    profile.Done(*step);
  }
  EXPECT_THAT(starts, ElementsAre(0, 10, 20, 30));
  EXPECT_GT(closed, 50);   // after 4 steps at the latest
  EXPECT_LT(closed, 101);  // and 2 at the earliest
}

TEST(SessionProfileTest, SpeculativeBlocksOverwriteBehindTheAcceptedPrefix) {
  const CountingPool pool;
  SessionProfile profile(Options(StepKind::kSpeculative, 3, 1, 6, 300), pool);
  Histories histories;
  std::map<uint64_t, uint64_t> block_begin;
  std::map<uint64_t, int> accepted;
  for (int i = 0; i < 3000; ++i) {
    const auto step = profile.Next();
    ASSERT_TRUE(step.has_value());
    const LoadSegment& block = step->segments[0];
    ASSERT_EQ(block.tokens.size(), 6u);
    histories.Take(*step, 3);
    if (block.start_pos > 0) ++accepted[block.start_pos - block_begin[block.session_id]];
    block_begin[block.session_id] = block.start_pos;
    EXPECT_LE(block.start_pos + 6, 300u);
    profile.Done(*step);
  }
  ASSERT_EQ(accepted.size(), 6u) << "1 to 6 tokens of a block";
  for (const auto& [tokens, blocks] : accepted) {
    EXPECT_TRUE(tokens >= 1 && tokens <= 6) << tokens;
    EXPECT_NEAR(blocks, 500, 100) << tokens;
  }
}

TEST(SessionProfileTest, TheSeedDecides) {
  const ZipfTokens pool(1, 50);
  const auto tokens_of = [&pool](uint64_t seed) {
    SessionProfileOptions options = Options(StepKind::kSpeculative, 2, 2, 6, 100);
    options.seed = seed;
    SessionProfile profile(options, pool);
    std::vector<uint32_t> tokens;
    for (int i = 0; i < 20; ++i) {
      const auto step = profile.Next();
      for (const LoadSegment& segment : step->segments) {
        tokens.insert(tokens.end(), segment.tokens.begin(), segment.tokens.end());
      }
      profile.Done(*step);
    }
    return tokens;
  };
  EXPECT_EQ(tokens_of(1), tokens_of(1));
  EXPECT_NE(tokens_of(1), tokens_of(2));
}

}  // namespace
}  // namespace engram
