// One communicator: sums and exchanges between ranks, on GPUs and in the double.

#include "shard/gpu/nccl_comm.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "model/number_formats.h"
#include "tests/gpu/gpu_ranks.h"

namespace engram {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// One rank at work on its device.
struct RankAtWork {
  explicit RankAtWork(Collective& host)
      : rank(host.rank()),
        ranks(host.ranks()),
        stream(Stream::Create(rank).value()),
        event(Event::Create(rank).value()),
        comm(NcclComm::Create(host, rank, InAMinute()).value()) {}

  template <typename Element>
  DeviceBuffer Upload(const std::vector<Element>& elements) {
    DeviceBuffer buffer = DeviceBuffer::Allocate(rank, elements.size() * sizeof(Element), "test elements").value();
    const cudaError_t error =
        cudaMemcpyAsync(buffer.data(), elements.data(), buffer.size(), cudaMemcpyHostToDevice, stream.get());
    EXPECT_EQ(CudaStatus(error, "upload"), absl::OkStatus());
    return buffer;
  }

  // What `buffer` holds when the operations so far are done.
  template <typename Element>
  std::vector<Element> Download(const DeviceBuffer& buffer) {
    const PinnedBuffer pinned = PinnedBuffer::Allocate(rank, buffer.size(), "test elements").value();
    const cudaError_t error =
        cudaMemcpyAsync(pinned.data(), buffer.data(), buffer.size(), cudaMemcpyDeviceToHost, stream.get());
    EXPECT_EQ(CudaStatus(error, "download"), absl::OkStatus());
    EXPECT_EQ(event.Record(stream), absl::OkStatus());
    EXPECT_EQ(comm->Await(event, "the test's operations", InAMinute()), absl::OkStatus());
    const auto* first = reinterpret_cast<const Element*>(pinned.data());
    return std::vector<Element>(first, first + buffer.size() / sizeof(Element));
  }

  const int rank;
  const int ranks;
  Stream stream;
  Event event;
  std::unique_ptr<NcclComm> comm;
};

// The parameter: how many ranks.
class NcclCommContract : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { ENGRAM_SKIP_WITHOUT_DEVICES(GetParam()); }

  static void Run(const std::function<void(RankAtWork&)>& body) {
    RunGpuRanks(GetParam(), [&body](Collective& host) {
      RankAtWork work(host);
      body(work);
      EXPECT_EQ(work.comm->Close(InAMinute()), absl::OkStatus());
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, NcclCommContract, testing::Values(1, 2, 3, 4, 7));

TEST_P(NcclCommContract, WordsAddUpAndWrap) {
  Run([](RankAtWork& work) {
    const auto mine = static_cast<uint64_t>(work.rank + 1);
    const DeviceBuffer words = work.Upload(std::vector<uint64_t>{mine, ~uint64_t{0}, mine << 60});
    ASSERT_EQ(work.comm->AllReduceSum(reinterpret_cast<uint64_t*>(words.data()), 3, work.stream, InAMinute()),
              absl::OkStatus());
    const auto ranks = static_cast<uint64_t>(work.ranks);
    const uint64_t sum = ranks * (ranks + 1) / 2;
    EXPECT_THAT(work.Download<uint64_t>(words), ElementsAre(sum, uint64_t{0} - ranks, sum << 60));
  });
}

TEST_P(NcclCommContract, BytesAddUpAndWrapAtAnyPlace) {
  Run([](RankAtWork& work) {
    const DeviceBuffer bytes = work.Upload(std::vector<uint8_t>(1001, 200));
    auto* odd = reinterpret_cast<uint8_t*>(bytes.data()) + 1;
    ASSERT_EQ(work.comm->AllReduceSum(odd, 999, work.stream, InAMinute()), absl::OkStatus());
    std::vector<uint8_t> sums = work.Download<uint8_t>(bytes);
    EXPECT_EQ(sums.front(), 200);
    EXPECT_EQ(sums.back(), 200);
    sums = {sums.begin() + 1, sums.end() - 1};
    EXPECT_THAT(sums, Each(static_cast<uint8_t>(200 * work.ranks)));
  });
}

// As rows are: one rank has the value, the others zeros.
TEST_P(NcclCommContract, Bf16ValuesOfOneOwnerComeThrough) {
  Run([](RankAtWork& work) {
    const std::vector<uint16_t> row = {0x3F80, 0xC0A0, 0x0001, 0x7F80, 0x8000, kBf16Nan};
    const int owner = work.ranks - 1;
    const DeviceBuffer values = work.Upload(work.rank == owner ? row : std::vector<uint16_t>(row.size(), 0));
    ASSERT_EQ(
        work.comm->AllReduceSumBf16(reinterpret_cast<uint16_t*>(values.data()), row.size(), work.stream, InAMinute()),
        absl::OkStatus());
    std::vector<uint16_t> sums = work.Download<uint16_t>(values);
    EXPECT_TRUE(std::isnan(Bf16ToFloat(sums.back())));
    sums.pop_back();
    const uint16_t zero = work.ranks == 1 ? 0x8000 : 0x0000;
    EXPECT_THAT(sums, ElementsAre(0x3F80, 0xC0A0, 0x0001, 0x7F80, zero));
  });
}

TEST_P(NcclCommContract, EveryRankSendsToEveryOther) {
  Run([](RankAtWork& work) {
    // Rank r sends 100*r + p + 1 bytes of value 16*r + p to rank p: every pair another size, odd ones too.
    std::vector<DeviceBuffer> buffers;
    std::vector<DevicePart> sends;
    std::vector<DevicePart> receives;
    const auto size = [](int from, int to) { return static_cast<size_t>(100 * from + to + 1); };
    const auto value = [](int from, int to) { return static_cast<uint8_t>(16 * from + to); };
    for (int peer = 0; peer < work.ranks; ++peer) {
      buffers.push_back(work.Upload(std::vector<uint8_t>(size(work.rank, peer), value(work.rank, peer))));
      sends.push_back({peer, buffers.back().data(), buffers.back().size()});
      buffers.push_back(work.Upload(std::vector<uint8_t>(size(peer, work.rank), 0xEE)));
      receives.push_back({peer, buffers.back().data(), buffers.back().size()});
    }
    ASSERT_EQ(work.comm->Exchange(sends, receives, work.stream, InAMinute()), absl::OkStatus());
    for (int peer = 0; peer < work.ranks; ++peer) {
      const DeviceBuffer& received = buffers[static_cast<size_t>(2 * peer + 1)];
      EXPECT_THAT(work.Download<uint8_t>(received), Each(value(peer, work.rank))) << "from rank " << peer;
    }
  });
}

TEST_P(NcclCommContract, ManyRoundsOfBothKindsStayInOrder) {
  Run([](RankAtWork& work) {
    const int owner = work.ranks - 1;
    DeviceBuffer words = work.Upload(std::vector<uint64_t>(64, 1));
    const DeviceBuffer part = work.Upload(std::vector<uint8_t>(33, static_cast<uint8_t>(work.rank)));
    uint64_t expected = 1;
    for (int round = 0; round < 5; ++round) {
      ASSERT_EQ(work.comm->AllReduceSum(reinterpret_cast<uint64_t*>(words.data()), 64, work.stream, InAMinute()),
                absl::OkStatus());
      expected *= static_cast<uint64_t>(work.ranks);
      if (work.ranks > 1 && work.rank == owner) {
        const DevicePart send = {0, part.data(), part.size()};
        ASSERT_EQ(work.comm->Exchange({send}, {}, work.stream, InAMinute()), absl::OkStatus());
      } else if (work.ranks > 1 && work.rank == 0) {
        const DevicePart receive = {owner, part.data(), part.size()};
        ASSERT_EQ(work.comm->Exchange({}, {receive}, work.stream, InAMinute()), absl::OkStatus());
      }
    }
    EXPECT_THAT(work.Download<uint64_t>(words), Each(expected));
    const int filled_by = work.rank == 0 ? owner : work.rank;
    EXPECT_THAT(work.Download<uint8_t>(part), Each(static_cast<uint8_t>(filled_by)));
  });
}

TEST_P(NcclCommContract, NothingToMoveIsOrdinary) {
  Run([](RankAtWork& work) {
    EXPECT_EQ(work.comm->AllReduceSum(static_cast<uint64_t*>(nullptr), 0, work.stream, InAMinute()), absl::OkStatus());
    const DevicePart nothing = {0, nullptr, 0};
    EXPECT_EQ(work.comm->Exchange({nothing}, {nothing}, work.stream, InAMinute()), absl::OkStatus());
    EXPECT_EQ(work.comm->Exchange({}, {}, work.stream, InAMinute()), absl::OkStatus());
  });
}

}  // namespace
}  // namespace engram
