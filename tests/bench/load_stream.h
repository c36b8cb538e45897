// One stream under load: step after step of a text, answers read and sampled.

#ifndef ENGRAM_TESTS_BENCH_LOAD_STREAM_H_
#define ENGRAM_TESTS_BENCH_LOAD_STREAM_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench_input.h"
#include "client/client_segment.h"
#include "client/frame_reader.h"
#include "raw_stream.h"
#include "row_check.h"

namespace engram {

struct LoadPlan {
  std::string server;       // HOST:PORT
  bool echo = false;        // it is the echo service
  uint32_t tokens = 1;      // of a step
  uint32_t in_flight = 1;   // steps of a stream
  double pace_seconds = 0;  // between the beginnings of steps, one in flight; 0: one behind the other
  bool shared = false;      // rows come through shared memory
};

// One session that goes on through the texts from `begin` and starts anew at their end. Life cycle: construct, Connect,
// Run on a thread of its own, destroy. Any thread may ask for bytes() and answered(), and
// tell it to stop.
class LoadStream {
 public:
  using Clock = std::chrono::steady_clock;

  // `input` must outlive it.
  LoadStream(const BenchInput& input, const LoadPlan& plan, uint64_t begin);

  // Opens the stream and has one step answered, so that nothing is done for the first time later.
  absl::Status Connect();
  // Until Stop. What went wrong: a refused step, wrong bytes (DATA_LOSS), a stream that ended (UNAVAILABLE).
  absl::Status Run();
  void Stop() { stop_ = true; }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }        // of rows received
  uint64_t answered() const { return answered_.load(std::memory_order_relaxed); }  // steps, since Run began
  // From just before a step was written to the arrival of its last frame, in seconds; those of Run only.
  const std::vector<double>& latencies() const { return latencies_; }
  uint64_t rows_checked() const { return rows_checked_; }

 private:
  struct Sent {
    uint64_t step_id;
    uint64_t position;  // of its first token in the session
    uint64_t sampled;   // token whose rows are compared; plan_.tokens: none
    Clock::time_point at;
    std::shared_ptr<SegmentPlace> place;  // null: rows come in messages
  };

  // Memory for the steps in flight, which the server takes.
  absl::Status Share();
  absl::Status Send();
  // Reads one message; a last frame takes its step off in_flight_.
  absl::Status Receive();
  absl::Status TakeFrame(const Sent& step, const ServerFrame& frame, grpc::ByteBuffer& message);
  // Token `at` of the frame, to sampled_.
  absl::Status Sample(const Sent& step, const ServerFrame& frame, grpc::ByteBuffer& message, uint64_t at);
  absl::Status CheckToken(const Sent& step, size_t layer_index, const std::vector<std::byte>& rows);

  const BenchInput& input_;
  const LoadPlan plan_;
  const uint64_t begin_;
  const uint64_t token_bytes_;
  RowCheck check_;
  std::unique_ptr<RawStream> stream_;
  std::shared_ptr<ClientSegment> segment_;
  uint64_t last_step_id_ = 0;
  uint64_t position_ = 0;
  std::deque<Sent> in_flight_;
  std::vector<std::byte> sampled_;
  std::vector<double> latencies_;
  uint64_t rows_checked_ = 0;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> answered_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_LOAD_STREAM_H_
