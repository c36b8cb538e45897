// The rules of seeds and forks, each by a literal example.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/server/session_rules.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using SessionSeeds = SessionRules;

TEST_F(SessionSeeds, ASeedOpensASessionAtItsBase) {
  const SessionWritten written = Do(7, 100, {100, 101, 102}, {.seed = SeedIds({97, 98, 99})});
  EXPECT_THAT(written.lookback, ElementsAre(97, 98, 99));
  EXPECT_EQ(written.length, 103u);
  EXPECT_THAT(Do(7, 100, {50}).lookback, ElementsAre(97, 98, 99));  // a rewind to where it was seeded
  Refused(WriteTo(store_, 7, 99, {1}), kPrecondition,
          "start_pos = 99: look-back needs position 96, before the known history [97, 101) of session 7");
  Refused(WriteTo(store_, 7, 2, {1}), kPrecondition, "look-back needs position 0");
}

TEST_F(SessionSeeds, ALongerSeedAllowsDeeperRewinds) {
  Do(7, 100, {100}, {.seed = SeedIds(IdsFrom(90, 10))});
  EXPECT_THAT(Do(7, 93, {5}).lookback, ElementsAre(90, 91, 92));
}

TEST_F(SessionSeeds, ASeedRebasesEvenWhereTheSessionAgrees) {
  Do(7, 0, IdsFrom(0, 10));
  Do(7, 10, {10}, {.seed = SeedIds({7, 8, 9})});
  Refused(WriteTo(store_, 7, 9, {1}), kPrecondition, "known history [7, 11)");
}

TEST_F(SessionSeeds, ASeedMayLieBeyondTheLength) {
  Do(7, 0, IdsFrom(0, 10));
  const SessionWritten written = Do(7, 1000, {}, {.seed = SeedIds({97, 98, 99})});
  EXPECT_EQ(written.length, 1000u);
  EXPECT_THAT(written.tail, ElementsAre(97, 98, 99));
}

TEST_F(SessionSeeds, PositionZeroNeedsNoHistory) {
  Do(7, 100, {100}, {.seed = SeedIds({97, 98, 99})});
  EXPECT_EQ(Do(7, 0, {1, 2}).length, 2u);
  EXPECT_THAT(Do(7, 1, {3}).lookback, ElementsAre(1));  // its base is 0 now
}

TEST_F(SessionSeeds, AForkCopiesAndThenGoesItsOwnWay) {
  Do(7, 0, IdsFrom(0, 300));
  const SessionWritten fork = Do(8, 290, {-1}, {.seed = SeedFork(7)});
  EXPECT_THAT(fork.lookback, ElementsAre(287, 288, 289));
  EXPECT_EQ(fork.length, 291u);
  EXPECT_THAT(Do(7, 291, {}).tail, ElementsAre(288, 289, 290));  // the source did not see the fork's write
  Do(7, 100, {50});                                              // nor the fork the source's rewind
  EXPECT_THAT(Do(8, 102, {}).lookback, ElementsAre(99, 100, 101));
}

TEST_F(SessionSeeds, AForkKeepsTheBase) {
  Do(7, 100, {100, 101}, {.seed = SeedIds(IdsFrom(95, 5))});
  Do(8, 101, {}, {.seed = SeedFork(7)});
  Refused(WriteTo(store_, 8, 97, {1}), kPrecondition, "known history [95, 101)");
  EXPECT_THAT(Do(8, 98, {}).lookback, ElementsAre(95, 96, 97));
}

TEST_F(SessionSeeds, AForkAtZeroIsEmptyWhateverTheSourcesBase) {
  Do(7, 100, {100}, {.seed = SeedIds({97, 98, 99})});
  EXPECT_EQ(Do(8, 0, {1, 2}, {.seed = SeedFork(7)}).length, 2u);
  EXPECT_THAT(Do(8, 1, {}).lookback, ElementsAre(1));
  EXPECT_EQ(Do(7, 0, {3}, {.seed = SeedFork(7)}).length, 1u);
  EXPECT_THAT(Do(7, 1, {}).lookback, ElementsAre(3));
}

TEST_F(SessionSeeds, AForkReplacesWhatTheSessionHeld) {
  Do(7, 0, IdsFrom(0, 10));
  Do(8, 0, IdsFrom(500, 700));
  EXPECT_THAT(Do(8, 5, {77}, {.seed = SeedFork(7)}).lookback, ElementsAre(2, 3, 4));
  EXPECT_THAT(Do(8, 6, {}).lookback, ElementsAre(3, 4, 77));
}

TEST_F(SessionSeeds, ForkingItselfIsARewind) {
  Do(7, 0, IdsFrom(0, 10));
  EXPECT_THAT(Do(7, 5, {77}, {.seed = SeedFork(7)}).lookback, ElementsAre(2, 3, 4));
  EXPECT_THAT(Do(7, 6, {}).lookback, ElementsAre(3, 4, 77));
}

TEST_F(SessionSeeds, ForksOfOthersAreReadByClient) {
  Do(7, 0, IdsFrom(0, 10), {.client = "b"});
  Refused(WriteTo(store_, 8, 5, {}, {.seed = SeedFork(7)}), kPrecondition, "fork_from.session_id = 7: unknown");
  EXPECT_THAT(Do(8, 5, {}, {.seed = SeedFork(7, "b")}).lookback, ElementsAre(2, 3, 4));
}

TEST_F(SessionSeeds, ForksNameWhatIsMissing) {
  Do(7, 100, {100}, {.seed = SeedIds({97, 98, 99})});
  Refused(WriteTo(store_, 8, 102, {}, {.seed = SeedFork(7)}), kPrecondition,
          "fork_from.position = 102: beyond the length 101 of session 7 (known history [97, 101))");
  Refused(WriteTo(store_, 8, 99, {}, {.seed = SeedFork(7)}), kPrecondition,
          "fork_from.position = 99: look-back needs position 96, before the known history [97, 101) of session 7");
  EXPECT_EQ(store_.sessions(), 1u);
}

TEST_F(SessionSeeds, StatelessWritesKeepNothing) {
  const SessionWritten written = Do(0, 0, {1, 2, 3, 4});
  EXPECT_THAT(written.lookback, IsEmpty());
  EXPECT_THAT(written.tail, ElementsAre(2, 3, 4));
  EXPECT_EQ(written.length, 4u);
  EXPECT_EQ(store_.sessions(), 0u);
  EXPECT_EQ(store_.history_bytes(), 0u);
  Refused(WriteTo(store_, 0, 4, {5}), kPrecondition, "start_pos = 4: session_id 0 keeps no history");
}

TEST_F(SessionSeeds, StatelessWritesTakeSeeds) {
  const SessionWritten seeded = Do(0, 5000000000, {9}, {.seed = SeedIds({5, 6, 7, 8})});
  EXPECT_THAT(seeded.lookback, ElementsAre(6, 7, 8));
  EXPECT_THAT(seeded.tail, ElementsAre(7, 8, 9));
  EXPECT_EQ(seeded.length, 5000000001u);

  Do(7, 0, IdsFrom(0, 10));
  const SessionWritten forked = Do(0, 6, {50, 51}, {.seed = SeedFork(7)});
  EXPECT_THAT(forked.lookback, ElementsAre(3, 4, 5));
  EXPECT_THAT(forked.tail, ElementsAre(5, 50, 51));
  EXPECT_EQ(Do(7, 10, {}).length, 10u);  // only read
  Refused(WriteTo(store_, 0, 11, {}, {.seed = SeedFork(7)}), kPrecondition, "beyond the length 10 of session 7");
}

}  // namespace
}  // namespace engram
