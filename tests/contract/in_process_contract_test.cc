// The contract between threads, and what only threads of one process can be made to do.

#include <gmock/gmock.h>

#include <memory>
#include <thread>
#include <vector>

#include "shard/in_process_collective.h"
#include "tests/contract/collective_contract.h"

namespace engram {

void RunOnRanks(int ranks, const std::function<void(Collective&)>& body) {
  const auto group = std::make_shared<InProcessGroup>(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      InProcessCollective collective(group, rank);
      body(collective);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

namespace {

INSTANTIATE_TEST_SUITE_P(InProcess, CollectiveContract, testing::Values(1, 2, 3, 4, 7));

using ::testing::HasSubstr;

Deadline Soon() { return DeadlineAfter(absl::Milliseconds(100)); }

void ExpectSilent(const absl::Status& status, const char* who) {
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(who));
}

// Both the copied kind of message and the lent one.
class LostRank : public testing::TestWithParam<size_t> {
 protected:
  std::shared_ptr<InProcessGroup> group_ = std::make_shared<InProcessGroup>(3);
  InProcessCollective first_{group_, 0};
  InProcessCollective second_{group_, 1};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(GetParam());
};

TEST_P(LostRank, AReceiverNamesWhoIsSilent) {
  std::vector<absl::Span<std::byte>> parts(3, absl::MakeSpan(bytes_));
  ExpectSilent(first_.Gather(0, {}, parts, Soon()), "from rank 1");
}

TEST_P(LostRank, ALentMessageIsTakenBackAfterTheDeadline) {
  const absl::Status status = second_.Gather(0, bytes_, {}, Soon());
  if (bytes_.size() <= 65536) {
    EXPECT_EQ(status, absl::OkStatus()) << "sent, and the sender free again";
    return;
  }
  ExpectSilent(status, "from rank 0");
  // What was taken back does not arrive any more.
  std::vector<absl::Span<std::byte>> parts = {{}, absl::MakeSpan(bytes_), {}};
  ExpectSilent(first_.Gather(0, {}, parts, Soon()), "from rank 1");
}

TEST_P(LostRank, AMessageOfAnotherSizeIsRefused) {
  std::thread sender([&] { (void)second_.Gather(0, bytes_, {}, Soon()); });
  std::vector<std::byte> larger(bytes_.size() + 1);
  std::vector<absl::Span<std::byte>> parts = {{}, absl::MakeSpan(larger), {}};
  EXPECT_EQ(first_.Gather(0, {}, parts, DeadlineAfter(absl::Seconds(60))).code(), absl::StatusCode::kInternal);
  sender.join();
}

TEST_P(LostRank, CloseEndsEveryWait) {
  std::thread closer([&] { group_->Close(); });
  ExpectSilent(second_.AwaitHeader(DeadlineAfter(absl::Seconds(60))).status(), "the job ended");
  closer.join();
}

INSTANTIATE_TEST_SUITE_P(Sizes, LostRank, testing::Values(size_t{100}, size_t{1000000}));

}  // namespace
}  // namespace engram
