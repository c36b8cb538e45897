// The n-gram hash of the released geometry.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "model/ngram_hash.h"
#include "shard/gpu/kernels.h"
#include "tests/gpu/bench/device_bench.h"
#include "tests/gpu/bench/device_timer.h"
#include "tests/unit/model/full_size.h"

namespace engram::bench {
namespace {

constexpr uint64_t kEngramVocabSize = 16'000'000;  // where the released model's primes begin

NgramHasher ReleasedHasher() {
  const Geometry geometry = FullSize();
  HashConstants constants;
  constants.pad_id = 2;
  constants.primes = DerivePrimes(geometry, kEngramVocabSize);
  constants.multipliers = DeriveMultipliers(geometry);
  constants.offsets = OffsetsOf(geometry, constants.primes);
  return NgramHasher(geometry, constants);
}

// One sequence of `tokens` from its beginning, hashed for both layers.
struct HashInput {
  std::vector<int32_t> window;
  std::vector<HashSegment> segments;

  HashInput(uint64_t tokens, uint64_t seed) : segments{{0, 0, 0, 0}, {0, tokens, 0, 1}} {
    for (const uint64_t id : RandomIds(tokens, FullSize().compressed_vocab_size, seed)) {
      window.push_back(static_cast<int32_t>(id));
    }
  }
};

// Ids [layers, tokens, K] on the device against the CPU's.
absl::StatusOr<uint64_t> CheckIds(const DeviceBuffer& out, const HashInput& input, const NgramHasher& hasher,
                                  const Stream& stream) {
  const uint64_t count = input.window.size() * hasher.columns();
  std::vector<uint64_t> wanted(count);
  std::vector<uint64_t> ids(count);
  for (size_t layer = 0; layer < input.segments.size(); ++layer) {
    hasher.Hash(layer, input.window, 0, absl::MakeSpan(wanted));
    ENGRAM_RETURN_IF_ERROR(DownloadBytes(out.data() + layer * count * sizeof(uint64_t),
                                         {reinterpret_cast<std::byte*>(ids.data()), count * sizeof(uint64_t)}, stream));
    if (ids != wanted) return absl::DataLossError(absl::StrCat("row ids of layer index ", layer, " are wrong"));
  }
  return count * input.segments.size();
}

// What the kernel reads.
struct HashMemory {
  DeviceBuffer windows;
  DeviceBuffer segments;
  DeviceBuffer multipliers;
  DeviceBuffer layout;
  DeviceBuffer out;
};

absl::StatusOr<HashMemory> UploadHash(const HashInput& input, const NgramHasher& hasher, const Stream& stream) {
  HashMemory memory;
  const std::vector<uint64_t> multipliers(hasher.multipliers().begin(), hasher.multipliers().end());
  const std::vector<HashColumn> layout(hasher.layout().begin(), hasher.layout().end());
  ENGRAM_ASSIGN_OR_RETURN(memory.windows, UploadValues(input.window, stream));
  ENGRAM_ASSIGN_OR_RETURN(memory.segments, UploadValues(input.segments, stream));
  ENGRAM_ASSIGN_OR_RETURN(memory.multipliers, UploadValues(multipliers, stream));
  ENGRAM_ASSIGN_OR_RETURN(memory.layout, UploadValues(layout, stream));
  const uint64_t ids = input.segments.size() * input.window.size() * hasher.columns();
  ENGRAM_ASSIGN_OR_RETURN(memory.out, DeviceBuffer::Allocate(stream.device(), ids * sizeof(uint64_t), "row ids"));
  return memory;
}

HashArgs ArgsOf(const HashMemory& memory, const HashInput& input, const NgramHasher& hasher) {
  HashArgs args;
  args.windows = reinterpret_cast<const int32_t*>(memory.windows.data());
  args.segments = reinterpret_cast<const HashSegment*>(memory.segments.data());
  args.segment_count = static_cast<uint32_t>(input.segments.size());
  args.tokens = input.segments.size() * input.window.size();
  args.columns = hasher.columns();
  args.heads = hasher.heads();
  args.pad_id = hasher.pad_id();
  args.multipliers = reinterpret_cast<const uint64_t*>(memory.multipliers.data());
  args.layout = reinterpret_cast<const HashColumn*>(memory.layout.data());
  args.output = HashOutput::kIds;
  args.out = reinterpret_cast<uint64_t*>(memory.out.data());
  return args;
}

}  // namespace

absl::Status BenchHash(const BenchOptions& options, const Stream& stream, BenchReport& report) {
  const NgramHasher hasher = ReleasedHasher();
  for (const uint64_t tokens : options.tokens) {
    const HashInput input(tokens, options.seed);
    ENGRAM_ASSIGN_OR_RETURN(const HashMemory memory, UploadHash(input, hasher, stream));
    const HashArgs args = ArgsOf(memory, input, hasher);
    ENGRAM_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(args.out, 0xEE, memory.out.size(), stream.get()));
    ENGRAM_ASSIGN_OR_RETURN(const std::vector<double> seconds,
                            TimeLaunches(stream, options.repetitions, LaunchesFor(memory.out.size()),
                                         [&] { return LaunchHash(args, stream.get()); }));
    ENGRAM_ASSIGN_OR_RETURN(const uint64_t checked, CheckIds(memory.out, input, hasher, stream));
    const double ids = static_cast<double>(memory.out.size() / sizeof(uint64_t));
    report.Add("hash", {{"tokens", tokens}, {"launch_us", SamplesOf(seconds).median * 1e6}}, "Mids/s",
               RatesOf(ids / 1e6, seconds), checked);
  }
  return absl::OkStatus();
}

}  // namespace engram::bench
