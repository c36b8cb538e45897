#include "tests/gpu/kernel_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace engram {
namespace {

constexpr uint64_t kGuardBytes = 64;

double E4m3ByDefinition(int code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

}  // namespace

uint8_t RowByte(size_t layer, uint64_t row, size_t at) {
  return static_cast<uint8_t>(row * 131 + (row >> 8) * 17 + (row >> 31) * 3 + at * 7 + layer * 29);
}

uint16_t DequantizeByDefinition(uint8_t code, uint8_t scale) {
  if ((code & 0x7F) == 0x7F || scale == 255) return 0x7FC0;
  const double value = std::ldexp(E4m3ByDefinition(code), scale - 127);
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int step = std::max(exponent - 8, -133);  // what the last bit of the bf16 is worth
  const double steps = std::nearbyint(std::ldexp(std::fabs(value), -step));
  if (std::ldexp(steps, step) >= std::ldexp(1.0, 128)) return sign | 0x7F80;
  return static_cast<uint16_t>(sign + static_cast<int>(steps) + 128 * (step + 133));
}

size_t RowBytes(RowForm form, uint32_t head_dim) {
  return form == RowForm::kPacked ? head_dim + head_dim / 32 : size_t{2} * head_dim;
}

std::vector<uint8_t> RowByDefinition(RowForm form, size_t layer, uint64_t row, uint32_t head_dim) {
  std::vector<uint8_t> bytes;
  if (form == RowForm::kPacked) {
    for (size_t at = 0; at < RowBytes(form, head_dim); ++at) bytes.push_back(RowByte(layer, row, at));
    return bytes;
  }
  for (size_t at = 0; at < head_dim; ++at) {
    const uint16_t bits = DequantizeByDefinition(RowByte(layer, row, at), RowByte(layer, row, head_dim + at / 32));
    bytes.push_back(static_cast<uint8_t>(bits));
    bytes.push_back(static_cast<uint8_t>(bits >> 8));
  }
  return bytes;
}

void KernelTest::SetUp() {
  ENGRAM_SKIP_WITHOUT_DEVICES(1);
  absl::StatusOr<Stream> stream = Stream::Create(0);
  ASSERT_TRUE(stream.ok()) << stream.status();
  stream_ = *std::move(stream);
}

void KernelTest::Finish() {
  const absl::Status status = stream_.Await("the kernels", InAMinute());
  ASSERT_TRUE(status.ok()) << status;
}

void KernelTest::Overwrite(void* device, const void* host, uint64_t bytes) {
  ASSERT_EQ(cudaMemcpyAsync(device, host, bytes, cudaMemcpyDefault, stream()), cudaSuccess);
  Finish();
}

std::byte* KernelTest::UploadBytes(const void* data, uint64_t bytes) {
  absl::StatusOr<DeviceBuffer> buffer = DeviceBuffer::Allocate(0, bytes, "input");
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  if (!buffer.ok()) return nullptr;
  buffers_.push_back(*std::move(buffer));
  if (bytes != 0) Overwrite(buffers_.back().data(), data, bytes);
  return buffers_.back().data();
}

Output KernelTest::MakeOutput(uint64_t bytes, uint64_t offset) {
  const std::vector<uint8_t> poison(bytes + 2 * kGuardBytes + offset, kPoison);
  uint8_t* data = Upload(poison);
  return {data + kGuardBytes + offset, bytes, buffers_.size() - 1};
}

std::vector<uint8_t> KernelTest::Read(const Output& output) {
  const DeviceBuffer& buffer = buffers_[output.buffer];
  std::vector<uint8_t> all(buffer.size());
  EXPECT_EQ(cudaMemcpyAsync(all.data(), buffer.data(), all.size(), cudaMemcpyDeviceToHost, stream()), cudaSuccess);
  Finish();
  const auto first = all.begin() + (output.data - reinterpret_cast<uint8_t*>(buffer.data()));
  const auto last = first + static_cast<ptrdiff_t>(output.bytes);
  const auto is_poison = [](uint8_t byte) { return byte == kPoison; };
  EXPECT_TRUE(std::all_of(all.begin(), first, is_poison)) << "written before the output";
  EXPECT_TRUE(std::all_of(last, all.end(), is_poison)) << "written behind the output";
  return {first, last};
}

DeviceRows KernelTest::MakeRows(size_t layer, uint64_t begin, uint64_t end, uint32_t head_dim) {
  std::vector<uint8_t> codes;
  std::vector<uint8_t> scales;
  for (uint64_t row = begin; row < end; ++row) {
    for (size_t at = 0; at < head_dim; ++at) codes.push_back(RowByte(layer, row, at));
    for (size_t at = 0; at < head_dim / 32; ++at) scales.push_back(RowByte(layer, row, head_dim + at));
  }
  DeviceRows rows;
  rows.codes = Upload(codes);
  rows.scales = Upload(scales);
  rows.begin = begin;
  rows.end = end;
  return rows;
}

const uint8_t* KernelTest::MakePacked(uint64_t count, uint32_t head_dim) {
  std::vector<uint8_t> bytes;
  for (uint64_t row = 0; row < count; ++row) {
    const std::vector<uint8_t> packed = RowByDefinition(RowForm::kPacked, 0, row, head_dim);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
  }
  return Upload(bytes);
}

void KernelTest::CheckFarRows(uint8_t* codes, uint8_t* scales, uint64_t begin, uint64_t end) {
  constexpr uint32_t kHeadDim = 32;
  const std::vector<uint64_t> entries = {begin, end - 1, end - 2, begin + 1, begin + (end - begin) / 2 + 1, end};
  for (const uint64_t row : absl::MakeConstSpan(entries).first(5)) {
    const std::vector<uint8_t> packed = RowByDefinition(RowForm::kPacked, 0, row, kHeadDim);
    Overwrite(codes + (row - begin) * kHeadDim, packed.data(), kHeadDim);
    Overwrite(scales + (row - begin), packed.data() + kHeadDim, 1);
  }
  for (const RowForm form : {RowForm::kPacked, RowForm::kBf16}) {
    const Output out = MakeOutput(entries.size() * RowBytes(form, kHeadDim));
    GatherArgs args;
    args.layers = Upload(std::vector<DeviceRows>{{codes, scales, begin, end}});
    args.layer_count = 1;
    args.head_dim = kHeadDim;
    args.entries = Upload(entries);
    args.rows = entries.size();
    args.form = form;
    args.out = out.data;
    ASSERT_TRUE(LaunchGather(args, stream()).ok());
    std::vector<uint8_t> wanted;
    for (const uint64_t row : entries) {
      std::vector<uint8_t> bytes(RowBytes(form, kHeadDim), 0);  // `end` is nobody's
      if (row < end) bytes = RowByDefinition(form, 0, row, kHeadDim);
      wanted.insert(wanted.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(Read(out), wanted);
  }
}

}  // namespace engram
