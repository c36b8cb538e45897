#include "tests/gpu/bench/device_timer.h"

#include <algorithm>

namespace engram::bench {
namespace {

// An event with a clock.
class TimedEvent {
 public:
  static absl::StatusOr<TimedEvent> Create() {
    cudaEvent_t event = nullptr;
    ENGRAM_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventDefault));
    return TimedEvent(event);
  }
  TimedEvent(TimedEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  TimedEvent& operator=(TimedEvent&&) = delete;
  ~TimedEvent() {
    if (event_ != nullptr) DropCudaError(cudaEventDestroy(event_));
  }

  cudaEvent_t get() const { return event_; }

 private:
  explicit TimedEvent(cudaEvent_t event) : event_(event) {}

  cudaEvent_t event_;
};

// One repetition.
absl::StatusOr<double> TimeOnce(const Stream& stream, const TimedEvent& begin, const TimedEvent& end, int launches,
                                absl::FunctionRef<absl::Status()> launch) {
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaEventRecord(begin.get(), stream.get()));
  for (int i = 0; i < launches; ++i) ENGRAM_RETURN_IF_ERROR(launch());
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaEventRecord(end.get(), stream.get()));
  ENGRAM_RETURN_IF_ERROR(stream.Await("a measured launch", DeadlineAfter(absl::Minutes(1))));
  float milliseconds = 0;
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
  // The clock's step is half a microsecond; nothing takes no time.
  return std::max(static_cast<double>(milliseconds), 0.0005) / 1e3 / launches;
}

}  // namespace

absl::StatusOr<std::vector<double>> TimeLaunches(const Stream& stream, int repetitions, int launches,
                                                 absl::FunctionRef<absl::Status()> launch) {
  ENGRAM_ASSIGN_OR_RETURN(const TimedEvent begin, TimedEvent::Create());
  ENGRAM_ASSIGN_OR_RETURN(const TimedEvent end, TimedEvent::Create());
  ENGRAM_RETURN_IF_ERROR(launch());
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    ENGRAM_ASSIGN_OR_RETURN(const double one, TimeOnce(stream, begin, end, launches, launch));
    seconds.push_back(one);
  }
  return seconds;
}

int LaunchesFor(uint64_t bytes_of_a_launch) {
  constexpr uint64_t kBytes = uint64_t{256} << 20;
  return static_cast<int>(std::clamp<uint64_t>(kBytes / std::max<uint64_t>(bytes_of_a_launch, 1), 1, 100));
}

}  // namespace engram::bench
