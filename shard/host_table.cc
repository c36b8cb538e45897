#include "shard/host_table.h"

#include <vector>

#include "model/files/errors.h"
#include "shard/numa_nodes.h"
#include "shard/stream_loader.h"

namespace engram {

absl::StatusOr<std::unique_ptr<Table>> HostTable::Load(TableSource source, ShardRange range, LoadMeter& meter) {
  const size_t row_bytes = source.codes.width + source.scales.width;
  absl::StatusOr<AnonymousMemory> memory =
      AnonymousMemory::Allocate((range.end - range.begin) * row_bytes, "placement HOST");
  if (!memory.ok()) return memory.status();
  // One rank whose threads run on several nodes: any row is as far from one as from the other (docs/gather.md).
  const std::vector<int> nodes = NodesOfThisThread();
  if (nodes.size() > 1) InterleaveOver(nodes, {memory->data(), memory->size()});
  std::byte* codes = memory->data();
  ENGRAM_RETURN_IF_ERROR(LoadRows(source, range, {codes, row_bytes, codes + source.codes.width, row_bytes}, meter));
  return std::unique_ptr<Table>(new HostTable(range, source.codes.width, *std::move(memory)));
}

absl::Status HostTable::Gather(RowForm form, absl::Span<const uint64_t> rows, absl::Span<const uint32_t> slots,
                               std::byte* out) {
  const auto* base = reinterpret_cast<const uint8_t*>(memory_.data());
  const uint64_t begin = range().begin;
  const size_t row_bytes = writer_.packed_bytes();
  const uint32_t head_dim = writer_.head_dim();
  writer_.WriteAll(form, rows, slots, out, [=](uint64_t row) {
    const uint8_t* codes = base + (row - begin) * row_bytes;
    return RowBytes{codes, codes + head_dim};
  });
  return absl::OkStatus();
}

}  // namespace engram
