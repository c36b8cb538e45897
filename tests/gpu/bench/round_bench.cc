// The kernels that follow the gather: dequantising, and putting rows where they were asked for.

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "model/files/errors.h"
#include "shard/gpu/kernels.h"
#include "tests/gpu/bench/device_bench.h"
#include "tests/gpu/bench/device_timer.h"

namespace engram::bench {
namespace {

// Packed rows [0, count) of the definition, as ranks send them.
std::vector<uint8_t> PackedRows(uint64_t count) {
  const uint64_t layer_key = LayerKey(kSeed, kLayerIds[0]);
  std::vector<uint8_t> packed;
  packed.reserve(count * kPackedBytes);
  for (uint64_t row = 0; row < count; ++row) {
    const std::vector<uint8_t> bytes = RowOf(layer_key, row, RowForm::kPacked);
    packed.insert(packed.end(), bytes.begin(), bytes.end());
  }
  return packed;
}

// Where each packed row was asked for, and the other way round.
struct Order {
  std::vector<uint32_t> requests;
  std::vector<uint64_t> rows;  // [request]
};

Order RandomOrder(uint64_t count, uint64_t seed) {
  Order order;
  order.requests.resize(count);
  order.rows.resize(count);
  std::iota(order.requests.begin(), order.requests.end(), 0);
  std::shuffle(order.requests.begin(), order.requests.end(), std::mt19937_64(seed));
  for (uint64_t row = 0; row < count; ++row) order.rows[order.requests[row]] = row;
  return order;
}

struct Setting {
  const BenchOptions& options;
  const Stream& stream;
  uint64_t rows;
  DeviceBuffer packed;
  DeviceBuffer out;
};

// Times a launch that reads every packed row and writes it in `form`; output row i is row rows[i].
absl::Status BenchMove(const Setting& setting, const std::string& name, RowForm form, absl::Span<const uint64_t> rows,
                       absl::FunctionRef<absl::Status()> launch, BenchReport& report) {
  const uint64_t bytes = setting.rows * (uint64_t{kPackedBytes} + RowBytesOf(form));
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(setting.out.data(), 0xEE, setting.out.size(), setting.stream.get()));
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<double> seconds,
                          TimeLaunches(setting.stream, setting.options.repetitions, LaunchesFor(bytes), launch));
  const auto* out = reinterpret_cast<const uint8_t*>(setting.out.data());
  ENGRAM_ASSIGN_OR_RETURN(const uint64_t checked, CheckRows(out, form, rows, setting.stream));
  report.Add(name, {{"rows", setting.rows}, {"launch_us", SamplesOf(seconds).median * 1e6}}, "GB/s",
             RatesOf(static_cast<double>(bytes) / 1e9, seconds), checked);
  return absl::OkStatus();
}

absl::Status BenchDequantize(const Setting& setting, BenchReport& report) {
  DequantizeArgs args;
  args.packed = reinterpret_cast<const uint8_t*>(setting.packed.data());
  args.rows = setting.rows;
  args.head_dim = kHeadDim;
  args.out = reinterpret_cast<uint8_t*>(setting.out.data());
  std::vector<uint64_t> rows(setting.rows);
  std::iota(rows.begin(), rows.end(), 0);
  return BenchMove(
      setting, "dequantize", RowForm::kBf16, rows, [&] { return LaunchDequantize(args, setting.stream.get()); },
      report);
}

absl::Status BenchPlace(const Setting& setting, RowForm form, BenchReport& report) {
  const Order order = RandomOrder(setting.rows, setting.options.seed);
  const std::vector<PlaceBlock> blocks = {{0, form, reinterpret_cast<uint8_t*>(setting.out.data())}};
  ENGRAM_ASSIGN_OR_RETURN(const DeviceBuffer requests, UploadValues(order.requests, setting.stream));
  ENGRAM_ASSIGN_OR_RETURN(const DeviceBuffer device_blocks, UploadValues(blocks, setting.stream));
  PlaceArgs args;
  args.packed = reinterpret_cast<const uint8_t*>(setting.packed.data());
  args.rows = setting.rows;
  args.head_dim = kHeadDim;
  args.requests = reinterpret_cast<const uint32_t*>(requests.data());
  args.blocks = reinterpret_cast<const PlaceBlock*>(device_blocks.data());
  args.block_count = 1;
  args.shape = ShapeOf(blocks);
  return BenchMove(
      setting, form == RowForm::kPacked ? "place_packed" : "place_bf16", form, order.rows,
      [&] { return LaunchPlace(args, setting.stream.get()); }, report);
}

}  // namespace

absl::Status BenchRoundKernels(const BenchOptions& options, const Stream& stream, BenchReport& report) {
  Setting setting = {options, stream, options.round_rows_max(), {}, {}};
  ENGRAM_ASSIGN_OR_RETURN(setting.packed, UploadValues(PackedRows(setting.rows), stream));
  ENGRAM_ASSIGN_OR_RETURN(setting.out, DeviceBuffer::Allocate(stream.device(), setting.rows * kBf16Bytes, "rows"));
  ENGRAM_RETURN_IF_ERROR(BenchDequantize(setting, report));
  ENGRAM_RETURN_IF_ERROR(BenchPlace(setting, RowForm::kPacked, report));
  return BenchPlace(setting, RowForm::kBf16, report);
}

}  // namespace engram::bench
