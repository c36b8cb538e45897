// Which memory replies get, by what the engine wants.

#include "server/reply_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace engram {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = 1 << 20;

class PinningEngine final : public Engine {
 public:
  absl::Status Gather(absl::Span<const RowBlock>) override { return absl::OkStatus(); }
  absl::Status Heartbeat() override { return absl::OkStatus(); }
  absl::Status Stop() override { return absl::OkStatus(); }
  ReplyMemory reply_memory() const override { return shared; }
  absl::Status PinReplyMemory(absl::Span<std::byte> memory) override {
    ++pins;
    pinned = memory;
    return answer;
  }

  ReplyMemory shared;
  absl::Status answer;
  absl::Span<std::byte> pinned;
  int pins = 0;
};

EngineOptions Placed(Placement placement) {
  EngineOptions options;
  options.placement = placement;
  options.reply_bytes = kBytes;
  return options;
}

TEST(ReplyMemoryTest, GpusGetPageLockedMemory) {
  for (const Placement placement : {Placement::kDevice, Placement::kHostPinned}) {
    PinningEngine engine;
    const absl::StatusOr<ReplyMemory> memory = MakeReplyMemory(engine, Placed(placement));
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(memory->bytes.size(), kBytes);
    EXPECT_EQ(engine.pins, 1);
    EXPECT_EQ(engine.pinned.data(), memory->bytes.data());
    EXPECT_EQ(engine.pinned.size(), kBytes);
    std::memset(memory->bytes.data(), 1, kBytes);
  }
}

TEST(ReplyMemoryTest, OtherRanksNeedNone) {
  for (const Placement placement : {Placement::kHost, Placement::kMapped}) {
    PinningEngine engine;
    EXPECT_TRUE(MakeReplyMemory(engine, Placed(placement))->bytes.empty());
    EXPECT_EQ(engine.pins, 0);
  }
}

TEST(ReplyMemoryTest, RanksThatShareMemoryHaveTheirOwn) {
  PinningEngine engine;
  engine.shared = *MapReplyMemory(2 * kBytes);
  const absl::StatusOr<ReplyMemory> memory = MakeReplyMemory(engine, Placed(Placement::kHost));
  EXPECT_EQ(memory->bytes.data(), engine.shared.bytes.data());
  EXPECT_EQ(memory->bytes.size(), 2 * kBytes);
  EXPECT_EQ(engine.shared.owner.use_count(), 2);
  EXPECT_EQ(engine.pins, 0);
}

TEST(ReplyMemoryTest, AFailureToPinIsTold) {
  PinningEngine engine;
  engine.answer = absl::ResourceExhaustedError("reply memory: 1048576 bytes cannot be page-locked");
  EXPECT_EQ(MakeReplyMemory(engine, Placed(Placement::kDevice)).status(), engine.answer);
}

TEST(ReplyMemoryTest, MoreThanThereIs) {
  const absl::Status status = MapReplyMemory(uint64_t{1} << 60).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("reply buffers need 1152921504606846976 bytes"));
}

}  // namespace
}  // namespace engram
