#include "shard/gather_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace engram {
namespace {

std::unique_ptr<GatherPool> Started(int threads, size_t piece_rows_min) {
  auto pool = GatherPool::Start(threads, piece_rows_min);
  EXPECT_EQ(pool.status(), absl::OkStatus());
  return *std::move(pool);
}

TEST(DefaultGatherThreads, IsHalfOfTheRanksShare) {
  struct Case {
    int allowed, online, local_ranks, threads;
  };
  constexpr Case kCases[] = {
      {2, 2, 1, 1},   {1, 64, 1, 1},   // two processors; bound to one
      {8, 8, 1, 4},   {8, 8, 2, 2},    // nobody is bound
      {8, 8, 3, 1},   {8, 8, 16, 1},   // more ranks than processors
      {64, 64, 1, 8}, {16, 64, 4, 8},  // never more than 8; bound to one of four nodes
      {16, 64, 8, 4}, {3, 64, 1, 1},   // two ranks bound to each node
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(DefaultGatherThreads(c.allowed, c.online, c.local_ranks), c.threads)
        << c.allowed << " of " << c.online << " for " << c.local_ranks << " ranks";
  }
  EXPECT_GE(DefaultGatherThreads(1), 1);
  EXPECT_EQ(DefaultGatherThreads(1 << 20), 1);
}

TEST(GatherPool, RefusesNumbersOutOfBounds) {
  for (const int threads : {-1, 0, 257}) {
    const auto pool = GatherPool::Start(threads);
    EXPECT_EQ(pool.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(pool.status().message()), testing::HasSubstr("must be in [1, 256]"));
  }
}

TEST(GatherPool, CutsNoSmallPieces) {
  const auto pool = Started(4, 100);
  EXPECT_EQ(pool->threads(), 4);
  EXPECT_EQ(pool->PiecesOf(0), 1u);
  EXPECT_EQ(pool->PiecesOf(199), 1u);
  EXPECT_EQ(pool->PiecesOf(200), 2u);
  EXPECT_EQ(pool->PiecesOf(399), 3u);
  EXPECT_EQ(pool->PiecesOf(1000000), 4u);
  EXPECT_EQ(Started(1, 100)->PiecesOf(1000000), 1u);
}

TEST(GatherPool, RunsEveryRowOnceInOrderedPieces) {
  for (const int threads : {1, 2, 5}) {
    const auto pool = Started(threads, 1);
    for (size_t rows = 0; rows < 40; ++rows) {
      std::vector<int> seen(rows);
      std::vector<std::pair<size_t, size_t>> pieces(pool->PiecesOf(rows));
      pool->Run(rows, [&](size_t piece, size_t begin, size_t end) {
        pieces[piece] = {begin, end};
        for (size_t i = begin; i < end; ++i) ++seen[i];
      });
      EXPECT_EQ(seen, std::vector<int>(rows, 1));
      size_t at = 0;
      for (const auto& [begin, end] : pieces) {
        EXPECT_EQ(begin, at);
        at = end;
      }
      EXPECT_EQ(at, rows);
    }
  }
}

TEST(GatherPool, TheFirstPieceIsTheCallersAndTheOthersAreNot) {
  const auto pool = Started(5, 1);
  std::vector<std::thread::id> threads(5);
  pool->Run(5, [&](size_t piece, size_t, size_t) { threads[piece] = std::this_thread::get_id(); });
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), 5u);
}

// Pieces of one gather, then of another with fewer: nobody sees the work of a turn that is over.
TEST(GatherPool, ManyTurnsOfAllSizes) {
  const auto pool = Started(5, 1);
  size_t sum = 0, wanted = 0;
  for (size_t turn = 0; turn < 20000; ++turn) {
    std::vector<size_t> counts(5);
    pool->Run(turn % 7, [&](size_t piece, size_t begin, size_t end) { counts[piece] = end - begin; });
    for (const size_t count : counts) sum += count;
    wanted += turn % 7;
  }
  EXPECT_EQ(sum, wanted);
}

TEST(GatherPool, EndsWithoutEverHavingWorked) {
  for (int i = 0; i < 100; ++i) Started(5, 1);
}

}  // namespace
}  // namespace engram
