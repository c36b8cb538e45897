// Whether steps are taken at all, and how many are under way.

#ifndef ENGRAM_SERVER_STEP_GATE_H_
#define ENGRAM_SERVER_STEP_GATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/mutex.h"

namespace engram {

// A place among the steps under way, given up when destroyed. Movable.
class StepTicket {
 public:
  StepTicket() = default;
  StepTicket(StepTicket&& other) noexcept = default;
  StepTicket& operator=(StepTicket&& other) noexcept {
    Leave();
    steps_ = std::move(other.steps_);
    return *this;
  }
  ~StepTicket() { Leave(); }

 private:
  friend class StepGate;
  explicit StepTicket(std::shared_ptr<std::atomic<int64_t>> steps) : steps_(std::move(steps)) {}
  void Leave() {
    if (steps_ != nullptr) steps_->fetch_sub(1);
    steps_ = nullptr;
  }

  std::shared_ptr<std::atomic<int64_t>> steps_;
};

// Stands before admission: a step that gets no ticket has changed nothing. Closed while loading, draining and after the
// loss of a rank. Thread-safe.
class StepGate {
 public:
  // `closed`: why steps are refused until Open.
  StepGate(int64_t steps_max, absl::Status closed) : steps_max_(steps_max), closed_(std::move(closed)) {}

  // The status given to Close, or RESOURCE_EXHAUSTED naming queue_steps_max.
  absl::StatusOr<StepTicket> Enter();

  void Open() { Close(absl::OkStatus()); }
  void Close(absl::Status why);

  // OK while open, else the status given to Close.
  absl::Status status();
  int64_t steps() const { return steps_->load(); }

 private:
  const int64_t steps_max_;
  const std::shared_ptr<std::atomic<int64_t>> steps_ = std::make_shared<std::atomic<int64_t>>(0);
  Mutex mu_;
  absl::Status closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_SERVER_STEP_GATE_H_
