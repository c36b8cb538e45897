// Gathers by ids on the host, by graphs and without: in the double.

#include "shard/gpu/entry_gather.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "shard/row_plan.h"
#include "tests/gpu/double/cuda_double.h"
#include "tests/gpu/kernel_fixture.h"

namespace engram {
namespace {

constexpr uint64_t kRowsMax = 3000;
constexpr uint32_t kHeadDim = 32;

// One rank that owns rows [10, 90) of one layer.
class EntryGatherTest : public KernelTest {
 protected:
  void SetUp() override {
    cuda_double::Install({});
    KernelTest::SetUp();
    geometry_.layer_ids = {1};
    geometry_.rows = {100};
    geometry_.head_dim = kHeadDim;
    const RoundSizes sizes = RoundSizesOf(CombineMode::kOwnerGather, geometry_, kRowsMax, 2);
    buffers_ = RoundBuffers::Allocate(sizes, 0).value();
    stream_ = Stream::Create(0).value();
    const DeviceRows rows = MakeRows(0, 10, 90, kHeadDim);
    Overwrite(buffers_.layers.data(), &rows, sizeof(rows));
    gather_.emplace(buffers_, geometry_, kRowsMax, stream_);
  }
  void TearDown() override { EXPECT_THAT(cuda_double::Faults(), testing::IsEmpty()); }

  // Row i of the call is row first + i % 100 of the layer.
  void Ask(int slot, uint64_t rows, uint64_t first) {
    for (uint64_t i = 0; i < rows; ++i) gather_->HostEntries(slot)[i] = EntryOf(0, first + i % 100);
  }

  static std::vector<uint8_t> Wanted(RowForm form, uint64_t rows, uint64_t first) {
    std::vector<uint8_t> wanted;
    for (uint64_t i = 0; i < rows; ++i) {
      const uint64_t row = first + i % 100;
      std::vector<uint8_t> bytes(RowBytes(form, kHeadDim), 0);
      if (row >= 10 && row < 90) bytes = RowByDefinition(form, 0, row, kHeadDim);
      wanted.insert(wanted.end(), bytes.begin(), bytes.end());
    }
    return wanted;
  }

  EntryGather::Call CallOf(int slot, uint64_t rows, RowForm form) {
    const auto at = static_cast<size_t>(slot);
    return {slot, rows, form, buffers_.rows[at].data(), nullptr};
  }

  // The first `rows` rows of a slot.
  std::vector<uint8_t> Rows(int slot, uint64_t rows, RowForm form) {
    std::vector<uint8_t> bytes(rows * RowBytes(form, kHeadDim));
    const std::byte* from = buffers_.rows[static_cast<size_t>(slot)].data();
    EXPECT_EQ(cudaMemcpyAsync(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost, stream_.get()), cudaSuccess);
    return bytes;
  }

  Geometry geometry_;
  RoundBuffers buffers_;
  Stream stream_;
  std::optional<EntryGather> gather_;
};

TEST_F(EntryGatherTest, EverySizeSlotAndForm) {
  for (const uint64_t rows : {1, 2, 3, 100, 1000, 1024, 1025, 3000}) {
    for (const int slot : {0, 1, 0}) {
      for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
        Ask(slot, rows, rows % 7);
        ASSERT_EQ(gather_->GatherFixed(CallOf(slot, rows, form)), absl::OkStatus());
        ASSERT_EQ(Rows(slot, rows, form), Wanted(form, rows, rows % 7)) << rows;
      }
    }
  }
  EXPECT_EQ(gather_->GatherFixed(CallOf(0, 0, RowForm::kPacked)), absl::OkStatus());
}

// What is behind the entries of this call is of another.
TEST_F(EntryGatherTest, AGraphFillsUpWithZeros) {
  Ask(0, 4, 20);
  ASSERT_EQ(gather_->GatherFixed(CallOf(0, 4, RowForm::kPacked)), absl::OkStatus());
  ASSERT_EQ(Rows(0, 4, RowForm::kPacked), Wanted(RowForm::kPacked, 4, 20));
  Ask(0, 3, 30);
  ASSERT_EQ(gather_->GatherFixed(CallOf(0, 3, RowForm::kPacked)), absl::OkStatus());
  std::vector<uint8_t> wanted = Wanted(RowForm::kPacked, 3, 30);
  wanted.resize(wanted.size() + 33, 0);
  EXPECT_EQ(Rows(0, 4, RowForm::kPacked), wanted);
}

TEST_F(EntryGatherTest, AGraphIsOneOperation) {
  for (const uint64_t rows : {5, 8, 6}) {
    Ask(1, rows, 11);
    EntryGather::Call call = CallOf(1, rows, RowForm::kBf16);
    call.staging = buffers_.host_small_rows[1].data();
    const int64_t before = cuda_double::Operations();
    ASSERT_EQ(gather_->GatherFixed(call), absl::OkStatus());
    EXPECT_EQ(cuda_double::Operations() - before, 1);
    ASSERT_EQ(stream_.Await("the graph", InAMinute()), absl::OkStatus());
    const std::vector<uint8_t> wanted = Wanted(RowForm::kBf16, rows, 11);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), reinterpret_cast<const uint8_t*>(call.staging))) << rows;
  }
}

TEST_F(EntryGatherTest, PartsOfWhatWasUploaded) {
  Ask(0, 50, 5);
  ASSERT_EQ(gather_->Upload(0, 50), absl::OkStatus());
  ASSERT_EQ(gather_->GatherUploaded(7, 20, RowForm::kBf16, buffers_.rows[0].data()), absl::OkStatus());
  EXPECT_EQ(Rows(0, 20, RowForm::kBf16), Wanted(RowForm::kBf16, 20, 12));
}

// What fails in the middle of a capture is told, and the stream goes on without it.
TEST_F(EntryGatherTest, AGraphThatCannotBeCaptured) {
  Ask(0, 3, 30);
  EntryGather::Call call = CallOf(0, 3, RowForm::kPacked);
  call.out = nullptr;
  EXPECT_EQ(gather_->GatherFixed(call).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gather_->GatherFixed(CallOf(0, 3, RowForm::kPacked)), absl::OkStatus());
  EXPECT_EQ(Rows(0, 3, RowForm::kPacked), Wanted(RowForm::kPacked, 3, 30));
}

}  // namespace
}  // namespace engram
