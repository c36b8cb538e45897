// Rows at random from a table, as every rank gathers the rows of a round.

#include <algorithm>
#include <string>
#include <vector>

#include "model/files/errors.h"
#include "shard/gpu/kernels.h"
#include "tests/gpu/bench/device_bench.h"
#include "tests/gpu/bench/device_timer.h"

namespace engram::bench {
namespace {

// Launches of the rounds that are measured, and a large one; `rows_max` is what the outputs have room for.
std::vector<uint64_t> SizesOf(const BenchOptions& options, uint64_t rows_max) {
  std::vector<uint64_t> sizes;
  for (const uint64_t tokens : options.tokens) sizes.push_back(tokens * kRowsOfAToken);
  sizes.push_back(options.gather_rows_max);
  for (uint64_t& size : sizes) size = std::min(size, rows_max);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// Ids and an output of bf16 rows, in half of what is free.
absl::StatusOr<uint64_t> RoomForRows() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
  return std::max<uint64_t>(free_bytes / 2 / (kBf16Bytes + sizeof(uint64_t)), kRowsOfAToken);
}

// One table, its ids and where the rows go.
struct GatherSetting {
  const BenchOptions& options;
  const BenchTable& table;
  const CopyRates& rates;
  const Stream& stream;
  std::vector<uint64_t> ids;
  DeviceBuffer layers;
  DeviceBuffer entries;
  DeviceBuffer out;
};

absl::Status BenchGather(const GatherSetting& setting, RowForm form, uint64_t rows, BenchReport& report) {
  const bool on_device = setting.table.placement() == Placement::kDevice;
  GatherArgs args;
  args.layers = reinterpret_cast<const DeviceRows*>(setting.layers.data());
  args.layer_count = 1;
  args.head_dim = kHeadDim;
  args.entries = reinterpret_cast<const uint64_t*>(setting.entries.data());
  args.rows = rows;
  args.form = form;
  args.out = reinterpret_cast<uint8_t*>(setting.out.data());
  const uint64_t row_bytes = uint64_t{kPackedBytes} + RowBytesOf(form);
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(args.out, 0xEE, rows * RowBytesOf(form), setting.stream.get()));
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<double> seconds,
                          TimeLaunches(setting.stream, setting.options.repetitions, LaunchesFor(rows * row_bytes),
                                       [&] { return LaunchGather(args, setting.stream.get()); }));
  ENGRAM_ASSIGN_OR_RETURN(const uint64_t checked,
                          CheckRows(args.out, form, absl::MakeConstSpan(setting.ids).first(rows), setting.stream));
  const Samples rates = RatesOf(static_cast<double>(rows * row_bytes) / 1e9, seconds);
  report.Add(form == RowForm::kPacked ? "gather_packed" : "gather_bf16",
             {{"placement", std::string(NameOf(setting.table.placement()))},
              {"table_rows", setting.table.rows().end},
              {"rows", rows},
              {"launch_us", SamplesOf(seconds).median * 1e6}},
             "GB/s", rates, checked);
  if (on_device) {
    report.AddRatio("of_copy", rates.median * 1e9 / setting.rates.device);
  } else {
    const double read = rates.median * 1e9 * kPackedBytes / static_cast<double>(row_bytes);
    report.AddRatio("of_bus", read / setting.rates.to_device);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BenchGathers(const BenchOptions& options, const BenchTable& table, const CopyRates& rates,
                          const Stream& stream, BenchReport& report) {
  ENGRAM_ASSIGN_OR_RETURN(const uint64_t rows_max, RoomForRows());
  const std::vector<uint64_t> sizes = SizesOf(options, rows_max);
  GatherSetting setting = {options, table, rates, stream, RandomIds(sizes.back(), table.rows().end, options.seed),
                           {},      {},    {}};
  ENGRAM_ASSIGN_OR_RETURN(setting.layers, UploadValues(std::vector<DeviceRows>{table.rows()}, stream));
  ENGRAM_ASSIGN_OR_RETURN(setting.entries, UploadValues(setting.ids, stream));  // of layer index 0: entry = row
  ENGRAM_ASSIGN_OR_RETURN(setting.out,
                          DeviceBuffer::Allocate(stream.device(), sizes.back() * kBf16Bytes, "rows gathered"));
  for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
    for (const uint64_t rows : sizes) ENGRAM_RETURN_IF_ERROR(BenchGather(setting, form, rows, report));
  }
  return absl::OkStatus();
}

}  // namespace engram::bench
