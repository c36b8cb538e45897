// An Engine without ranks: row content is a pure function of layer and row, so any reply can be checked without a
// table.

#ifndef ENGRAM_TESTS_UNIT_SERVER_FAKE_ENGINE_H_
#define ENGRAM_TESTS_UNIT_SERVER_FAKE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "model/geometry.h"
#include "shard/engine.h"

namespace engram {

inline std::string FakeRow(const Geometry& geometry, size_t layer_index, RowForm form, uint64_t row) {
  std::string bytes(form == RowForm::kPacked ? geometry.packed_row_bytes() : geometry.bf16_row_bytes(), '\0');
  uint64_t state = row * 0x9E3779B97F4A7C15u + layer_index * 2 + (form == RowForm::kBf16 ? 1 : 0) + 1;
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state >> 32);
  }
  return bytes;
}

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(const Geometry& geometry) : geometry_(geometry) {}

  // Asked before each Gather; not OK is its answer, after rubbish was written over half of the output.
  std::function<absl::Status(absl::Span<const RowBlock>)> fault;
  uint64_t round_bytes_max = ~uint64_t{0};  // a round above fails with INVALID_ARGUMENT
  int gathers = 0;
  int heartbeats = 0;

  absl::Status Gather(absl::Span<const RowBlock> blocks) override {
    ++gathers;
    uint64_t bytes = 0;
    const absl::Status status = fault ? fault(blocks) : absl::OkStatus();
    for (const RowBlock& block : blocks) {
      std::byte* out = block.out;
      for (const uint64_t id : block.ids) {
        std::string row = FakeRow(geometry_, block.layer_index, block.form, id);
        if (!status.ok()) row.assign(row.size(), '?');
        std::copy(row.begin(), row.end(), reinterpret_cast<char*>(out));
        out += row.size();
        bytes += row.size();
      }
    }
    if (bytes > round_bytes_max) return absl::InvalidArgumentError("round too large");
    return status;
  }

  absl::Status Heartbeat() override {
    ++heartbeats;
    return fault ? fault({}) : absl::OkStatus();
  }
  absl::Status Stop() override { return absl::OkStatus(); }

 private:
  const Geometry& geometry_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_FAKE_ENGINE_H_
