// The last leg of a round by itself: which copies it makes, and where the bytes land. In the double.

#include "shard/gpu/copy_out.h"

#include <gmock/gmock.h>

#include <optional>
#include <vector>

#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kBytes = 1000;

class CopyOutTest : public testing::Test {
 protected:
  void SetUp() override {
    cuda_double::Install({});
    stream_ = Stream::Create(0).value();
    ready_ = Event::Create(0).value();
    from_ = DeviceBuffer::Allocate(0, kBytes, "rows").value();
    for (PinnedBuffer& staging : buffers_.host_small_rows) staging = PinnedBuffer::Allocate(0, kBytes, "rows").value();
    out_ = CopyOut::Make(0, buffers_).value();
    bytes_.assign(kBytes, std::byte{0});
    // Byte i of the device is i.
    const PinnedBuffer values = PinnedBuffer::Allocate(0, kBytes, "rows").value();
    for (uint64_t i = 0; i < kBytes; ++i) values.data()[i] = static_cast<std::byte>(i);
    EXPECT_EQ(cudaMemcpyAsync(from_.data(), values.data(), kBytes, cudaMemcpyHostToDevice, stream_.get()), cudaSuccess);
    EXPECT_EQ(stream_.Await("the upload", InAMinute()), absl::OkStatus());
  }
  void TearDown() override { EXPECT_THAT(cuda_double::Faults(), IsEmpty()); }

  // `bytes` of the device at `from` are to go to place `to` of bytes_.
  void Add(uint64_t from, uint64_t to, uint64_t bytes) { out_->Add(from_.data() + from, bytes_.data() + to, bytes); }

  // How many operations the start took.
  int64_t Start(bool small) {
    const int64_t before = cuda_double::Operations();
    if (small) {
      EXPECT_EQ(out_->StartSmall(stream_, false), absl::OkStatus());
    } else {
      EXPECT_EQ(ready_.Record(stream_), absl::OkStatus());
      EXPECT_EQ(out_->StartLarge(ready_), absl::OkStatus());
    }
    return cuda_double::Operations() - before;
  }

  std::vector<int> Finish(int slot, size_t begin, size_t end) {
    EXPECT_EQ(out_->done(slot).Await("the copies", InAMinute()), absl::OkStatus());
    out_->Finish(slot);
    std::vector<int> values;
    for (size_t i = begin; i < end; ++i) values.push_back(static_cast<uint8_t>(bytes_[i]));
    return values;
  }

  Stream stream_;
  Event ready_;
  DeviceBuffer from_;
  RoundBuffers buffers_;
  std::vector<std::byte> bytes_;
  std::optional<CopyOut> out_;
};

TEST_F(CopyOutTest, ASmallRoundIsOneCopy) {
  out_->Open(1);
  Add(10, 100, 2);
  Add(12, 200, 1);
  Add(13, 50, 3);
  EXPECT_EQ(Start(true), 2);  // and the event
  EXPECT_THAT(bytes_, Each(std::byte{0})) << "nothing is there before Finish";
  EXPECT_THAT(Finish(1, 99, 103), ElementsAre(0, 10, 11, 0));
  EXPECT_THAT(Finish(1, 199, 202), ElementsAre(0, 12, 0));
  EXPECT_THAT(Finish(1, 49, 54), ElementsAre(0, 13, 14, 15, 0));
}

TEST_F(CopyOutTest, ASmallRoundOfSeveralPlacesIsACopyOfEach) {
  out_->Open(0);
  Add(10, 100, 2);
  Add(90, 102, 2);
  Add(20, 104, 1);
  EXPECT_EQ(Start(true), 4);
  EXPECT_THAT(Finish(0, 99, 106), ElementsAre(0, 10, 11, 90, 91, 20, 0));
}

TEST_F(CopyOutTest, ALargeRoundIsACopyOfWhatLiesTogetherOnBothSides) {
  const PinnedBuffer pinned = PinnedBuffer::Register(0, absl::MakeSpan(bytes_), "replies").value();
  out_->Open(0);
  Add(10, 100, 2);
  Add(12, 102, 3);  // with the one before
  Add(15, 200, 1);
  Add(30, 201, 1);
  Add(31, 202, 1);                 // with the one before
  EXPECT_EQ(Start(false), 3 + 3);  // the events: ready, a wait for it, done
  EXPECT_THAT(Finish(0, 99, 106), ElementsAre(0, 10, 11, 12, 13, 14, 0));
  EXPECT_THAT(Finish(0, 199, 204), ElementsAre(0, 15, 30, 31, 0));
}

TEST_F(CopyOutTest, ALargeRoundWaitsForItsRows) {
  const PinnedBuffer pinned = PinnedBuffer::Register(0, absl::MakeSpan(bytes_), "replies").value();
  out_->Open(0);
  Add(0, 0, 8);
  cuda_double::HoldStreams(true);
  EXPECT_EQ(cudaMemsetAsync(from_.data(), 7, 8, stream_.get()), cudaSuccess);
  Start(false);
  cuda_double::HoldStreams(false);
  EXPECT_THAT(Finish(0, 0, 9), ElementsAre(7, 7, 7, 7, 7, 7, 7, 7, 0));
}

TEST_F(CopyOutTest, MemoryThatIsNotPinnedIsKnown) {
  std::vector<std::byte> pageable(10);
  out_->Open(0);
  EXPECT_FALSE(out_->HasPageable().value());
  out_->Add(from_.data(), buffers_.host_small_rows[0].data(), 1);
  EXPECT_FALSE(out_->HasPageable().value());
  const PinnedBuffer pinned = PinnedBuffer::Register(0, absl::MakeSpan(bytes_), "replies").value();
  Add(20, 20, 4);
  EXPECT_FALSE(out_->HasPageable().value());
  out_->Add(from_.data(), pageable.data(), 5);
  EXPECT_TRUE(out_->HasPageable().value());
  Start(false);
  EXPECT_THAT(Finish(0, 19, 25), ElementsAre(0, 20, 21, 22, 23, 0));
  EXPECT_EQ(pageable[4], std::byte{4});
}

TEST_F(CopyOutTest, AnEmptyRoundIsOver) {
  for (const bool small : {true, false}) {
    out_->Open(0);
    Start(small);
    EXPECT_THAT(Finish(0, 0, 2), ElementsAre(0, 0));
  }
}

}  // namespace
}  // namespace engram
