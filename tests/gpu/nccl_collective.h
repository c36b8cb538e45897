// Collective whose data goes through NCCL on device memory, so that the contract of all Collectives is NcclComm's too.
// Headers go by the host. A test's adapter: every operation copies to the device and back.

#ifndef ENGRAM_TESTS_GPU_NCCL_COLLECTIVE_H_
#define ENGRAM_TESTS_GPU_NCCL_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shard/collective.h"
#include "shard/gpu/nccl_comm.h"

namespace engram {

class NcclCollective : public Collective {
 public:
  // Collective. `host` must outlive it. Errors of NcclComm::Create, RESOURCE_EXHAUSTED without room on the device.
  static absl::StatusOr<std::unique_ptr<NcclCollective>> Create(Collective& host, int device, Deadline deadline);

  // Collective, last: nobody has left before all are here.
  absl::Status Close(Deadline deadline) { return comm_->Close(deadline); }

  int rank() const override { return host_.rank(); }
  int ranks() const override { return host_.ranks(); }
  int local_rank() const override { return host_.local_rank(); }
  int local_ranks() const override { return host_.local_ranks(); }
  absl::Status SendHeaders(absl::Span<const RoundHeader> headers, Deadline deadline) override {
    return host_.SendHeaders(headers, deadline);
  }
  absl::StatusOr<RoundHeader> AwaitHeader(Deadline deadline) override { return host_.AwaitHeader(deadline); }
  absl::Status Broadcast(int root, absl::Span<std::byte> bytes, Deadline deadline) override;
  absl::Status Scatter(int root, absl::Span<const absl::Span<const std::byte>> parts, absl::Span<std::byte> mine,
                       Deadline deadline) override;
  absl::Status Gather(int root, absl::Span<const std::byte> mine, absl::Span<const absl::Span<std::byte>> parts,
                      Deadline deadline) override;
  absl::Status AllReduceSum(absl::Span<uint64_t> words, Deadline deadline) override;
  absl::Status AllReduceSumBf16(absl::Span<uint16_t> values, Deadline deadline) override;

 private:
  // On both sides; allocated once, since allocating while another rank's operation runs can wait for that rank.
  static constexpr uint64_t kStagingBytes = uint64_t{8} << 20;

  NcclCollective(Collective& host, DeviceBuffer device, PinnedBuffer pinned, Stream stream, Event done,
                 std::unique_ptr<NcclComm> comm)
      : host_(host),
        device_(std::move(device)),
        pinned_(std::move(pinned)),
        stream_(std::move(stream)),
        done_(std::move(done)),
        comm_(std::move(comm)) {}

  // The bytes of one operation, back to back on the device; put on the way there, and taken back when all is done.
  absl::Status Upload(absl::Span<const absl::Span<const std::byte>> parts);
  absl::Status Download(absl::Span<const absl::Span<std::byte>> parts, Deadline deadline);
  absl::Status Finish(Deadline deadline);
  absl::Status SumInPlace(absl::Span<std::byte> bytes, absl::FunctionRef<absl::Status()> sum, Deadline deadline);

  Collective& host_;
  const DeviceBuffer device_;
  const PinnedBuffer pinned_;
  Stream stream_;
  Event done_;
  const std::unique_ptr<NcclComm> comm_;  // last: it goes before the memory it moves
};

}  // namespace engram

#endif  // ENGRAM_TESTS_GPU_NCCL_COLLECTIVE_H_
