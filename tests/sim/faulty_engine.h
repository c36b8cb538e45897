// Real ranks, and what may go wrong with them.

#ifndef ENGRAM_TESTS_SIM_FAULTY_ENGINE_H_
#define ENGRAM_TESTS_SIM_FAULTY_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

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

// A round that fails leaves zeros in every block: a server that sent them all the same would be seen.
class FaultyEngine final : public Engine {
 public:
  FaultyEngine(std::unique_ptr<Job> job, std::unique_ptr<Engine> engine, const Geometry& geometry, EngineFaults& faults)
      : job_(std::move(job)), engine_(std::move(engine)), geometry_(geometry), faults_(faults), random_(faults.seed) {}

  absl::Status Gather(absl::Span<const RowBlock> blocks) override {
    const absl::Status fault = NextFault(blocks);
    if (fault.ok()) return engine_->Gather(blocks);
    for (const RowBlock& block : blocks) {
      const bool packed = block.form == RowForm::kPacked;
      const size_t width = packed ? geometry_.packed_row_bytes() : geometry_.bf16_row_bytes();
      if (!block.ids.empty()) std::memset(block.out, 0, block.ids.size() * width);
    }
    return fault;
  }

  absl::Status Heartbeat() override { return faults_.rank_lost ? Lost() : engine_->Heartbeat(); }
  absl::Status Stop() override { return engine_->Stop(); }

 private:
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
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_FAULTY_ENGINE_H_
