#include "tests/contract/collective_contract.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "model/number_formats.h"
#include "shard/rank_report.h"

namespace engram {
namespace {

using Bytes = std::vector<std::byte>;

// Nothing here takes long, but machines that test are slow.
Deadline Later() { return DeadlineAfter(absl::Seconds(60)); }

// What rank `rank` says in round `round`.
Bytes Speech(int rank, int round, size_t size) {
  auto state = static_cast<uint32_t>(rank * 1000 + round);
  Bytes bytes(size);
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// Empty, tiny, odd, around what is sent at once, large.
constexpr size_t kSizes[] = {0, 1, 7, 4096, 65536, 65537, 300001};

TEST_P(CollectiveContract, RanksKnowTheirNumbers) {
  Run([](Collective& collective) {
    EXPECT_EQ(collective.ranks(), GetParam());
    EXPECT_GE(collective.rank(), 0);
    EXPECT_LT(collective.rank(), GetParam());
  });
}

TEST_P(CollectiveContract, EachRankGetsItsOwnHeaderInOrder) {
  Run([](Collective& collective) {
    for (uint64_t sequence = 1; sequence <= 50; ++sequence) {
      if (collective.rank() == 0) {
        std::vector<RoundHeader> headers(static_cast<size_t>(collective.ranks()));
        for (size_t rank = 0; rank < headers.size(); ++rank) {
          headers[rank].sequence = sequence;
          headers[rank].rows_of_rank = 100 * sequence + rank;
        }
        ASSERT_EQ(collective.SendHeaders(headers, Later()), absl::OkStatus());
        continue;
      }
      const absl::StatusOr<RoundHeader> header = collective.AwaitHeader(Later());
      ASSERT_EQ(header.status(), absl::OkStatus());
      EXPECT_EQ(header->magic, kRoundMagic);
      EXPECT_EQ(header->sequence, sequence);
      EXPECT_EQ(header->rows_of_rank, 100 * sequence + static_cast<uint64_t>(collective.rank()));
    }
  });
}

TEST_P(CollectiveContract, AHeaderAfterALongIdleArrives) {
  Run([](Collective& collective) {
    for (int i = 0; i < 3; ++i) {
      if (collective.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        const std::vector<RoundHeader> headers(static_cast<size_t>(collective.ranks()));
        ASSERT_EQ(collective.SendHeaders(headers, Later()), absl::OkStatus());
      } else {
        ASSERT_EQ(collective.AwaitHeader(Later()).status(), absl::OkStatus());
      }
    }
  });
}

TEST_P(CollectiveContract, BroadcastFromEveryRoot) {
  Run([](Collective& collective) {
    for (int root = 0; root < collective.ranks(); ++root) {
      for (size_t size : kSizes) {
        const Bytes said = Speech(root, 1, size);
        Bytes bytes = collective.rank() == root ? said : Bytes(size);
        ASSERT_EQ(collective.Broadcast(root, absl::MakeSpan(bytes), Later()), absl::OkStatus());
        ASSERT_TRUE(bytes == said) << "root " << root << ", " << size << " bytes";
      }
    }
  });
}

// The part of a rank: other ranks have other sizes, some none.
size_t PartSize(int rank, size_t size) { return rank % 3 == 2 ? 0 : size + static_cast<size_t>(rank); }

TEST_P(CollectiveContract, ScatterFromEveryRoot) {
  Run([](Collective& collective) {
    for (int root = 0; root < collective.ranks(); ++root) {
      for (size_t size : kSizes) {
        std::vector<Bytes> said;
        std::vector<absl::Span<const std::byte>> parts;
        for (int rank = 0; rank < collective.ranks(); ++rank) said.push_back(Speech(rank, 2, PartSize(rank, size)));
        for (const Bytes& bytes : said) parts.push_back(bytes);
        Bytes mine(collective.rank() == root ? 0 : PartSize(collective.rank(), size));
        if (collective.rank() != root) parts.clear();
        ASSERT_EQ(collective.Scatter(root, parts, absl::MakeSpan(mine), Later()), absl::OkStatus());
        if (collective.rank() != root) {
          ASSERT_TRUE(mine == said[static_cast<size_t>(collective.rank())]);
        }
      }
    }
  });
}

TEST_P(CollectiveContract, GatherToEveryRoot) {
  Run([](Collective& collective) {
    for (int root = 0; root < collective.ranks(); ++root) {
      for (size_t size : kSizes) {
        const Bytes mine = Speech(collective.rank(), 3, PartSize(collective.rank(), size));
        std::vector<Bytes> heard;
        std::vector<absl::Span<std::byte>> parts;
        for (int rank = 0; rank < collective.ranks(); ++rank) heard.emplace_back(PartSize(rank, size), std::byte{9});
        for (Bytes& bytes : heard) parts.push_back(absl::MakeSpan(bytes));
        if (collective.rank() != root) parts.clear();
        ASSERT_EQ(collective.Gather(root, mine, parts, Later()), absl::OkStatus());
        for (int rank = 0; collective.rank() == root && rank < collective.ranks(); ++rank) {
          const size_t part = PartSize(rank, size);
          const Bytes wanted = rank == root ? Bytes(part, std::byte{9}) : Speech(rank, 3, part);
          ASSERT_TRUE(heard[static_cast<size_t>(rank)] == wanted) << "rank " << rank << " to root " << root;
        }
      }
    }
  });
}

// Where it can be shared, all see the same bytes; elsewhere none at all.
TEST_P(CollectiveContract, SharedMemoryIsSeenByThoseWhoAreSaidToSeeIt) {
  Run([](Collective& collective) {
    constexpr size_t kBytes = 300001;
    const absl::StatusOr<SharedMemory> memory = collective.ShareMemory(kBytes, Later());
    ASSERT_EQ(memory.status(), absl::OkStatus());
    const auto rank = static_cast<size_t>(collective.rank());
    const absl::Span<std::byte> bytes = memory->bytes;
    ASSERT_TRUE(bytes.empty() || bytes.size() == kBytes);
    if (rank == 0 && !bytes.empty()) std::fill(bytes.begin() + 1000, bytes.end(), std::byte{7});
    char go = 1;
    ASSERT_EQ(BroadcastRecord(collective, 0, go, Later()), absl::OkStatus());
    if (rank != 0 && !bytes.empty()) {
      EXPECT_EQ(bytes[kBytes - 1], std::byte{7});
      EXPECT_EQ(bytes[rank], std::byte{0});
      bytes[rank] = static_cast<std::byte>(rank);
    }
    const char sees = bytes.empty() ? 0 : 1;
    const auto all = GatherRecords(collective, 0, sees, Later());
    ASSERT_EQ(all.status(), absl::OkStatus());
    for (size_t other = 0; other < all->size(); ++other) {
      const bool said = !memory->seen_by.empty() && memory->seen_by[other];
      EXPECT_EQ(said, (*all)[other] == 1) << "rank " << other;
      if (said) {
        EXPECT_EQ(bytes[other], static_cast<std::byte>(other));
      }
    }
    ASSERT_EQ(BroadcastRecord(collective, 0, go, Later()), absl::OkStatus());
  });
}

TEST_P(CollectiveContract, WordsAreSummedAndWrap) {
  Run([](Collective& collective) {
    const auto ranks = static_cast<uint64_t>(collective.ranks());
    for (size_t size : kSizes) {
      std::vector<uint64_t> words(size / 8);
      for (size_t i = 0; i < words.size(); ++i) words[i] = i * static_cast<uint64_t>(collective.rank() + 1);
      if (!words.empty()) words[0] = UINT64_MAX;
      ASSERT_EQ(collective.AllReduceSum(absl::MakeSpan(words), Later()), absl::OkStatus());
      for (size_t i = 1; i < words.size(); ++i) ASSERT_EQ(words[i], i * (ranks * (ranks + 1) / 2));
      if (!words.empty()) {
        ASSERT_EQ(words[0], uint64_t{0} - ranks);
      }
    }
  });
}

// One owner among zeros, as in a round: all 65,536 patterns come through, but -0 becomes +0 and every NaN 0x7FC0.
TEST_P(CollectiveContract, Bf16AmongZerosComesThrough) {
  Run([](Collective& collective) {
    std::vector<uint16_t> values(65536);
    for (size_t i = 0; i < values.size(); ++i) {
      const bool owned = static_cast<int>(i) % collective.ranks() == collective.rank();
      values[i] = owned ? static_cast<uint16_t>(i) : uint16_t{0};
    }
    ASSERT_EQ(collective.AllReduceSumBf16(absl::MakeSpan(values), Later()), absl::OkStatus());
    for (size_t i = 0; i < values.size(); ++i) {
      const bool nan = (i & 0x7FFF) > 0x7F80;
      const size_t summed = i == 0x8000 ? 0 : nan ? kBf16Nan : i;
      ASSERT_EQ(values[i], collective.ranks() == 1 ? i : summed) << "pattern " << i;
    }
  });
}

TEST_P(CollectiveContract, Bf16AddsInFloatsAndRounds) {
  Run([](Collective& collective) {
    // 256 + 1 is half way between two bf16 numbers and goes to the even one: the sum stays 256.
    std::vector<uint16_t> values = {collective.rank() == 0 ? uint16_t{0x4380} : uint16_t{0x3F80}, 0x3F80};
    ASSERT_EQ(collective.AllReduceSumBf16(absl::MakeSpan(values), Later()), absl::OkStatus());
    if (collective.ranks() == 2) {
      EXPECT_EQ(values[0], 0x4380);
    }
    EXPECT_EQ(Bf16ToFloat(values[1]), static_cast<float>(collective.ranks()));
  });
}

TEST_P(CollectiveContract, StatusesOfAllRanksReachTheRoot) {
  Run([](Collective& collective) {
    for (int root = 0; root < collective.ranks(); ++root) {
      const absl::Status mine =
          collective.rank() % 2 == 1 ? absl::DataLossError(std::to_string(collective.rank())) : absl::OkStatus();
      const auto reports = GatherRecords(collective, root, ReportOf(mine), Later());
      ASSERT_EQ(reports.status(), absl::OkStatus());
      ASSERT_EQ(reports->size(), collective.rank() == root ? static_cast<size_t>(collective.ranks()) : 0u);
      for (size_t rank = 0; rank < reports->size(); ++rank) {
        EXPECT_EQ(StatusOf((*reports)[rank]),
                  rank % 2 == 1 ? absl::DataLossError(std::to_string(rank)) : absl::OkStatus());
      }
      RankReport verdict = ReportOf(collective.rank() == root ? absl::InternalError("verdict") : absl::OkStatus());
      ASSERT_EQ(BroadcastRecord(collective, root, verdict, Later()), absl::OkStatus());
      EXPECT_EQ(StatusOf(verdict), absl::InternalError("verdict"));
    }
  });
}

TEST_P(CollectiveContract, OperationsFollowEachOtherWithoutABarrier) {
  Run([](Collective& collective) {
    std::mt19937 random(7);  // the same at all ranks
    for (int round = 0; round < 200; ++round) {
      const int root = static_cast<int>(random() % static_cast<uint32_t>(collective.ranks()));
      Bytes bytes = Speech(collective.rank(), round, random() % 2000);
      ASSERT_EQ(collective.Broadcast(root, absl::MakeSpan(bytes), Later()), absl::OkStatus());
      ASSERT_TRUE(bytes == Speech(root, round, bytes.size())) << "round " << round;
      std::vector<uint64_t> words(random() % 300, 1);
      ASSERT_EQ(collective.AllReduceSum(absl::MakeSpan(words), Later()), absl::OkStatus());
      for (uint64_t word : words) ASSERT_EQ(word, static_cast<uint64_t>(collective.ranks()));
      const auto heard = GatherRecords(collective, root, collective.rank() + round, Later());
      ASSERT_EQ(heard.status(), absl::OkStatus());
      for (size_t rank = 0; rank < heard->size(); ++rank) ASSERT_EQ((*heard)[rank], static_cast<int>(rank) + round);
    }
  });
}

// Last: after a failed wait a job is lost.
TEST_P(CollectiveContract, SilenceEndsAtTheDeadline) {
  Run([](Collective& collective) {
    if (collective.rank() == 0) return;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(collective.AwaitHeader(DeadlineAfter(absl::Milliseconds(300))).status().code(),
              absl::StatusCode::kUnavailable);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  });
}

}  // namespace
}  // namespace engram
