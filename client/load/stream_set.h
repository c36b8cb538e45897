// All streams of a run and their threads.

#ifndef ENGRAM_CLIENT_LOAD_STREAM_SET_H_
#define ENGRAM_CLIENT_LOAD_STREAM_SET_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "client/load/stream.h"
#include "client/load/token_draw.h"

namespace engram {

// Life cycle: construct, Connect, Start, look until over(), Stop to end early, Join, destroy. One thread uses it, but
// for Stop and the gauges.
class StreamSet {
 public:
  // `shared` and `pool` (null for a replay) must outlive it.
  StreamSet(const LoadShared& shared, const TokenPool* pool, uint32_t lookback);
  ~StreamSet();
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;

  // Returns when all have reached the server, or the first error of RunStream::AwaitConnected.
  absl::Status Connect();
  void Start();
  // No further steps; those under way have until `give_up`.
  void Stop(LoadTime give_up);
  bool over() const { return running_.load() == 0; }
  void Join();

  uint64_t in_flight() const;
  uint64_t due() const;
  // After Join.
  uint64_t reconnections() const;
  // After Join: the oldest intended start that was not made; max() without one.
  LoadTime oldest_due() const;

 private:
  std::deque<RunStream> streams_;
  std::vector<std::thread> threads_;
  std::atomic<size_t> running_{0};
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_STREAM_SET_H_
