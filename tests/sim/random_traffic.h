// Random steps: mostly good, some with every fault a client can make.

#ifndef ENGRAM_TESTS_SIM_RANDOM_TRAFFIC_H_
#define ENGRAM_TESTS_SIM_RANDOM_TRAFFIC_H_

#include <cstdint>
#include <random>
#include <string>

#include "tests/sim/protocol_model.h"

namespace engram {

// Whose name space forks may read from besides the client's own.
inline constexpr char kSharedClient[] = "shared";

struct TrafficOptions {
  uint64_t sessions = 8;  // ids 1..sessions
  bool timeouts = true;
  uint32_t timeout_ms_max = 20;
};

class RandomTraffic {
 public:
  RandomTraffic(uint64_t seed, const SimModel& sim, const TrafficOptions& options)
      : random_(seed), sim_(sim), options_(options) {}

  // At least one segment. `known` says where sessions stand; it may be behind or ahead, which makes for gaps.
  v1::StepRequest Step(const ProtocolModel& known, const std::string& client, uint64_t step_id);

  uint64_t Pick(uint64_t below) { return random_() % below; }
  bool OneIn(uint64_t n) { return Pick(n) == 0; }

 private:
  void FillSegment(const ProtocolModel& known, const std::string& client, v1::Segment& segment);
  void Seed(const ProtocolModel& known, const std::string& client, v1::Segment& segment);
  void SeedLookback(v1::Segment& segment);
  void SeedState(v1::Segment& segment);
  void SeedFork(const ProtocolModel& known, const std::string& client, v1::Segment& segment);
  void SpoilSegment(v1::Segment& segment);
  void SpoilStep(v1::StepRequest& step);
  std::string Mask(int tokens);
  uint32_t Token() { return static_cast<uint32_t>(Pick(sim_.geometry().vocab_size)); }

  std::mt19937_64 random_;
  const SimModel& sim_;
  const TrafficOptions options_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_RANDOM_TRAFFIC_H_
