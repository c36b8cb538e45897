// Real ranks, and what may go wrong with them.

#ifndef ENGRAM_TESTS_SIM_FAULTY_ENGINE_H_
#define ENGRAM_TESTS_SIM_FAULTY_ENGINE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "shard/engine.h"

namespace engram {

// Drawn from `seed`, but for what is set while it runs (any thread).
struct EngineFaults {
  uint64_t seed = 1;
  absl::Duration delay_max;                // before each round
  int data_loss_percent = 0;               // of gathers that fail; the next may succeed
  std::atomic<uint64_t> bad_rows{0};       // not 0: a row id that it divides cannot be read
  std::atomic<bool> rank_lost{false};      // from now on
  std::atomic<int> rounds_until_lost{-1};  // counts down to a lost rank; negative: never
};

inline bool IsBadRow(uint64_t divisor, uint64_t row) { return divisor != 0 && row % divisor == 0; }

// An odd seed makes it an engine that takes two rounds. Of those the blocks are filled at Finish, as late as can be,
// and half of the faults are told there. Blocks that are not filled, since their round is in flight or failed, hold
// zeros: a server that sent them all the same would be seen.
class FaultyEngine final : public Engine {
 public:
  FaultyEngine(std::unique_ptr<Job> job, std::unique_ptr<Engine> engine, const Geometry& geometry, EngineFaults& faults)
      : job_(std::move(job)), engine_(std::move(engine)), geometry_(geometry), faults_(faults), random_(faults.seed) {}

  absl::Status Gather(absl::Span<const RowBlock> blocks) override {
    EXPECT_TRUE(begun_.empty()) << "Gather while a round is in flight";
    absl::Status fault = NextFault(blocks);
    if (fault.ok()) return engine_->Gather(blocks);
    Clear(blocks);
    return fault;
  }

  absl::Status Begin(absl::Span<const RowBlock> blocks) override {
    if (rounds_in_flight_max() == 1) return Gather(blocks);
    EXPECT_LT(begun_.size(), 2u);
    Clear(blocks);
    BegunRound round{{blocks.begin(), blocks.end()}, NextFault(blocks)};
    if (absl::IsUnavailable(round.fault) || (!round.fault.ok() && random_() % 2 == 0)) return round.fault;
    begun_.push_back(std::move(round));
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    if (rounds_in_flight_max() == 1) return absl::OkStatus();
    if (begun_.empty()) {
      ADD_FAILURE() << "Finish without a round that is begun";
      return absl::InternalError("nothing to finish");
    }
    const BegunRound round = std::move(begun_.front());
    begun_.pop_front();
    if (faults_.rank_lost) return Lost();
    return round.fault.ok() ? engine_->Gather(round.blocks) : round.fault;
  }

  int rounds_in_flight_max() const override { return 1 + static_cast<int>(faults_.seed % 2); }

  absl::Status Heartbeat() override {
    EXPECT_TRUE(begun_.empty()) << "Heartbeat while a round is in flight";
    return faults_.rank_lost ? Lost() : engine_->Heartbeat();
  }
  absl::Status Stop() override { return engine_->Stop(); }

 private:
  struct BegunRound {
    std::vector<RowBlock> blocks;
    absl::Status fault;
  };

  void Clear(absl::Span<const RowBlock> blocks) const {
    for (const RowBlock& block : blocks) {
      const bool packed = block.form == RowForm::kPacked;
      const size_t width = packed ? geometry_.packed_row_bytes() : geometry_.bf16_row_bytes();
      if (!block.ids.empty()) std::memset(block.out, 0, block.ids.size() * width);
    }
  }

  static absl::Status Lost() { return absl::UnavailableError("rank 1 was lost"); }

  absl::Status NextFault(absl::Span<const RowBlock> blocks) {
    if (faults_.delay_max > absl::ZeroDuration()) {
      absl::SleepFor(faults_.delay_max * std::uniform_real_distribution<double>(0, 1)(random_));
    }
    if (faults_.rounds_until_lost >= 0 && faults_.rounds_until_lost-- == 0) faults_.rank_lost = true;
    if (faults_.rank_lost) return Lost();
    if (static_cast<int>(random_() % 100) < faults_.data_loss_percent) return absl::DataLossError("a file changed");
    for (const RowBlock& block : blocks) {
      for (const uint64_t id : block.ids) {
        if (IsBadRow(faults_.bad_rows, id)) return absl::DataLossError("a row cannot be read");
      }
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<Job> job_;
  const std::unique_ptr<Engine> engine_;
  const Geometry& geometry_;
  EngineFaults& faults_;
  std::mt19937_64 random_;
  std::deque<BegunRound> begun_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_FAULTY_ENGINE_H_
