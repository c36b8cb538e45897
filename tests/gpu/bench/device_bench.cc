#include "tests/gpu/bench/device_bench.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/anonymous_memory.h"
#include "tests/gpu/bench/fill.h"

namespace engram::bench {
namespace {

constexpr absl::Duration kWaitMax = absl::Minutes(2);

Deadline InTime() { return DeadlineAfter(kWaitMax); }

// On the device, as --table-gib and its default have it: outputs and ids need some room beside the table.
absl::StatusOr<uint64_t> DeviceTableBytes(const BenchOptions& options) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (options.table_bytes != 0) return options.table_bytes;
  constexpr uint64_t kLarge = 64 * kGib;
  constexpr uint64_t kBeside = 6 * kGib;
  const uint64_t most = free_bytes / 5 * 4;
  return most < kLarge && free_bytes >= kLarge + kBeside ? kLarge : most;
}

uint64_t PinnedTableBytes(const BenchOptions& options) {
  return std::min<uint64_t>(options.pinned_bytes, AvailableMemory() / 2);
}

absl::Status BenchTableOf(Placement placement, uint64_t bytes, const BenchOptions& options, const CopyRates& rates,
                          const Stream& stream, BenchReport& report) {
  ENGRAM_ASSIGN_OR_RETURN(const BenchTable table, BenchTable::Make(placement, bytes, stream));
  return BenchGathers(options, table, rates, stream, report);
}

}  // namespace

absl::StatusOr<BenchTable> BenchTable::Make(Placement placement, uint64_t bytes, const Stream& stream) {
  const uint64_t count = bytes / kPackedBytes;
  if (count == 0) {
    return absl::InvalidArgumentError(absl::StrCat("a table of ", bytes, " bytes; a row has ", kPackedBytes));
  }
  DeviceBuffer memory;
  PinnedBuffer pinned;
  if (placement == Placement::kDevice) {
    ENGRAM_ASSIGN_OR_RETURN(memory, DeviceBuffer::Allocate(stream.device(), count * kPackedBytes, "table"));
  } else {
    ENGRAM_ASSIGN_OR_RETURN(pinned, PinnedBuffer::Allocate(stream.device(), count * kPackedBytes, "table"));
  }
  auto* begin = reinterpret_cast<uint8_t*>(placement == Placement::kDevice ? memory.data() : pinned.device_data());
  FillArgs fill;
  fill.codes = reinterpret_cast<uint64_t*>(begin);
  fill.scales = reinterpret_cast<uint64_t*>(begin + count * kHeadDim);
  fill.rows = count;
  fill.layer_key = LayerKey(kSeed, kLayerIds[0]);
  ENGRAM_RETURN_IF_ERROR(LaunchFill(fill, stream.get()));
  ENGRAM_RETURN_IF_ERROR(stream.Await("the table's content", InTime()));
  const DeviceRows rows = {begin, begin + count * kHeadDim, 0, count};
  return BenchTable(placement, std::move(memory), std::move(pinned), rows);
}

absl::StatusOr<DeviceBuffer> UploadBytes(absl::Span<const std::byte> bytes, const Stream& stream) {
  ENGRAM_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream.device(), bytes.size(), "input"));
  if (bytes.empty()) return buffer;
  ENGRAM_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(buffer.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream.get()));
  ENGRAM_RETURN_IF_ERROR(stream.Await("an upload", InTime()));
  return buffer;
}

absl::Status DownloadBytes(const void* device, absl::Span<std::byte> bytes, const Stream& stream) {
  if (bytes.empty()) return absl::OkStatus();
  ENGRAM_RETURN_IF_CUDA_ERROR(
      cudaMemcpyAsync(bytes.data(), device, bytes.size(), cudaMemcpyDeviceToHost, stream.get()));
  return stream.Await("a download", InTime());
}

std::vector<uint64_t> PlacesToCheck(uint64_t count, uint64_t seed) {
  constexpr uint64_t kPlaces = 256;
  if (count == 0) return {};
  std::mt19937_64 random(seed);
  std::vector<uint64_t> places = {0, count - 1};
  while (places.size() < std::min(count, kPlaces)) places.push_back(random() % count);
  return places;
}

std::vector<uint64_t> RandomIds(uint64_t count, uint64_t bound, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> ids(count);
  for (uint64_t& id : ids) id = random() % bound;
  return ids;
}

absl::StatusOr<uint64_t> CheckRows(const uint8_t* device_out, RowForm form, absl::Span<const uint64_t> rows,
                                   const Stream& stream) {
  const uint64_t layer_key = LayerKey(kSeed, kLayerIds[0]);
  std::vector<std::byte> bytes(RowBytesOf(form));
  const std::vector<uint64_t> places = PlacesToCheck(rows.size(), 7);
  for (const uint64_t place : places) {
    ENGRAM_RETURN_IF_ERROR(DownloadBytes(device_out + place * bytes.size(), absl::MakeSpan(bytes), stream));
    const std::vector<uint8_t> wanted = RowOf(layer_key, rows[place], form);
    if (std::memcmp(bytes.data(), wanted.data(), bytes.size()) == 0) continue;
    return absl::DataLossError(absl::StrCat("row ", place, " of ", rows.size(), " answered, which is row ", rows[place],
                                            " of the table, is not what the table holds there"));
  }
  return places.size();
}

absl::Status BenchDevice(const BenchOptions& options, BenchReport& report) {
  ENGRAM_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(0));
  ENGRAM_ASSIGN_OR_RETURN(const CopyRates rates, BenchCopies(options, stream, report));
  ENGRAM_RETURN_IF_ERROR(BenchRoundKernels(options, stream, report));
  ENGRAM_RETURN_IF_ERROR(BenchHash(options, stream, report));
  ENGRAM_ASSIGN_OR_RETURN(const uint64_t device_bytes, DeviceTableBytes(options));
  ENGRAM_RETURN_IF_ERROR(BenchTableOf(Placement::kDevice, device_bytes, options, rates, stream, report));
  return BenchTableOf(Placement::kHostPinned, PinnedTableBytes(options), options, rates, stream, report);
}

}  // namespace engram::bench
