// From ids on the host to rows on the device: the part of a round's path that every rank has.

#ifndef ENGRAM_SHARD_GPU_ENTRY_GATHER_H_
#define ENGRAM_SHARD_GPU_ENTRY_GATHER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "model/geometry.h"
#include "shard/gpu/device_memory.h"
#include "shard/gpu/graph_cache.h"
#include "shard/gpu/round_buffers.h"
#include "shard/shard.h"

namespace engram {

// Shows the device where the tables of `shard` lie: buffers.layers. Waits for the device. INTERNAL when it cannot find
// rows that are there.
absl::Status UploadLayers(const Shard& shard, const RoundBuffers& buffers, const Stream& stream);

// Puts gathers on one stream; waits for nothing. Used by its rank's engine thread alone. Rows that are not this rank's
// are zeros.
class EntryGather {
 public:
  // The first `rows` of a slot's entries.
  struct Call {
    int slot = 0;
    uint64_t rows = 0;
    RowForm form = RowForm::kPacked;
    std::byte* out = nullptr;      // on the device, [rows] in `form`
    std::byte* staging = nullptr;  // pinned, to copy them to; null: no copy
  };

  // All must outlive it.
  EntryGather(const RoundBuffers& buffers, const Geometry& geometry, uint64_t rows_max, const Stream& stream)
      : buffers_(buffers), geometry_(geometry), rows_max_(rows_max), stream_(stream) {}

  // [rows_max] entries (EntryOf in row_plan.h) on the host, to be filled before a call; they must stay until the stream
  // has passed it.
  uint64_t* HostEntries(int slot) const;

  // By a graph where they are few: `out` and `staging` must follow from slot and form. It may write zeros behind the
  // rows, up to the next power of two within rows_max, and entries behind the slot's.
  absl::Status GatherFixed(const Call& call);
  // All graphs of such calls, with no row of anybody.
  absl::Status WarmUp(const Call& call);
  // To any place.
  absl::Status Gather(const Call& call);

  // The same in two steps, for several forms.
  absl::Status Upload(int slot, uint64_t rows);
  // Rows [begin, begin + rows) of the uploaded entries.
  absl::Status GatherUploaded(uint64_t begin, uint64_t rows, RowForm form, std::byte* out);

 private:
  const RoundBuffers& buffers_;
  const Geometry& geometry_;
  const uint64_t rows_max_;
  const Stream& stream_;
  GraphCache graphs_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_ENTRY_GATHER_H_
