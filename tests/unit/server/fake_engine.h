// An Engine without ranks: row content is a pure function of layer and row, so any reply can be checked without a
// table.

#ifndef ENGRAM_TESTS_UNIT_SERVER_FAKE_ENGINE_H_
#define ENGRAM_TESTS_UNIT_SERVER_FAKE_ENGINE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

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

// With rounds_in_flight = 2 it fills blocks at Finish, which hold question marks until then; with 1 at Begin.
class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(const Geometry& geometry) : geometry_(geometry) {}

  // Asked before each Gather and Begin; not OK is its answer, after rubbish was written over the output.
  std::function<absl::Status(absl::Span<const RowBlock>)> fault;
  // The same for Finish of a round with these blocks, with rounds_in_flight = 2.
  std::function<absl::Status(absl::Span<const RowBlock>)> late_fault;
  uint64_t round_bytes_max = ~uint64_t{0};  // a round above fails with INVALID_ARGUMENT
  int rounds_in_flight = 1;                 // set before the first round
  bool any_thread = false;                  // set before the first round
  int gathers = 0;                          // those begun included
  int heartbeats = 0;
  std::string calls;  // B, F, G, H: Begin, Finish, Gather, Heartbeat, as they came

  absl::Status Gather(absl::Span<const RowBlock> blocks) override {
    EXPECT_EQ(begun(), 0u) << "Gather while a round is in flight";
    calls += 'G';
    return GatherNow(blocks);
  }

  absl::Status Begin(absl::Span<const RowBlock> blocks) override {
    if (rounds_in_flight == 1) return Gather(blocks);
    EXPECT_LT(begun(), static_cast<size_t>(rounds_in_flight));
    calls += 'B';
    const absl::Status status = CheckRound(blocks);
    Spoil(blocks);
    if (status.ok()) begun_.emplace_back(blocks.begin(), blocks.end());
    return status;
  }

  absl::Status Finish() override {
    if (rounds_in_flight == 1) return absl::OkStatus();
    calls += 'F';
    if (begun_.empty()) {
      ADD_FAILURE() << "Finish without a round that is begun";
      return absl::InternalError("nothing to finish");
    }
    const std::vector<RowBlock> blocks = std::move(begun_.front());
    begun_.pop_front();
    absl::Status status = late_fault ? late_fault(blocks) : absl::OkStatus();
    if (status.ok()) Fill(blocks);
    return status;
  }

  int rounds_in_flight_max() const override { return rounds_in_flight; }
  bool serves_any_thread() const override { return any_thread; }
  size_t begun() const { return begun_.size(); }

  absl::Status Heartbeat() override {
    EXPECT_EQ(begun(), 0u) << "Heartbeat while a round is in flight";
    ++heartbeats;
    calls += 'H';
    return fault ? fault({}) : absl::OkStatus();
  }
  absl::Status Stop() override { return absl::OkStatus(); }

 private:
  absl::Status GatherNow(absl::Span<const RowBlock> blocks) {
    const absl::Status status = CheckRound(blocks);
    if (status.ok()) {
      Fill(blocks);
    } else {
      Spoil(blocks);
    }
    return status;
  }

  absl::Status CheckRound(absl::Span<const RowBlock> blocks) {
    ++gathers;
    if (absl::Status status = fault ? fault(blocks) : absl::OkStatus(); !status.ok()) return status;
    uint64_t bytes = 0;
    for (const RowBlock& block : blocks) bytes += BytesOf(block);
    return bytes > round_bytes_max ? absl::InvalidArgumentError("round too large") : absl::OkStatus();
  }

  size_t BytesOf(const RowBlock& block) const {
    return block.ids.size() *
           (block.form == RowForm::kPacked ? geometry_.packed_row_bytes() : geometry_.bf16_row_bytes());
  }

  void Fill(absl::Span<const RowBlock> blocks) const {
    for (const RowBlock& block : blocks) {
      char* out = reinterpret_cast<char*>(block.out);
      for (const uint64_t id : block.ids) {
        const std::string row = FakeRow(geometry_, block.layer_index, block.form, id);
        out = std::copy(row.begin(), row.end(), out);
      }
    }
  }

  void Spoil(absl::Span<const RowBlock> blocks) const {
    for (const RowBlock& block : blocks) std::fill_n(reinterpret_cast<char*>(block.out), BytesOf(block), '?');
  }

  const Geometry& geometry_;
  std::deque<std::vector<RowBlock>> begun_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_FAKE_ENGINE_H_
