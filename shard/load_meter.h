// Counts the bytes of the shards that this process loads, reports them, and ends a load that takes too long.

#ifndef ENGRAM_SHARD_LOAD_METER_H_
#define ENGRAM_SHARD_LOAD_METER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "model/mutex.h"
#include "shard/deadline.h"
#include "shard/engine.h"

namespace engram {

// One for all ranks of a process. Thread-safe; the callback is never run by two threads at once.
class LoadMeter {
 public:
  LoadMeter(uint64_t bytes_total, std::function<void(const LoadProgress&)> report, Deadline deadline,
            std::function<void(const std::string& line)> note = nullptr)
      : report_(std::move(report)), note_(std::move(note)), deadline_(deadline), progress_{0, bytes_total} {}

  // After each block. DEADLINE_EXCEEDED once load_timeout is over.
  absl::Status Add(uint64_t bytes);

  // A line for the log about how rows are loaded: only the first one gets there.
  void NoteOnce(const std::string& line);

 private:
  const std::function<void(const LoadProgress&)> report_;
  const std::function<void(const std::string& line)> note_;
  const Deadline deadline_;

  Mutex mu_;
  LoadProgress progress_ ABSL_GUARDED_BY(mu_);
  bool has_noted_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_LOAD_METER_H_
