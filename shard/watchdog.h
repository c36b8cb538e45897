// Ends the process when something that cannot be polled takes too long.

#ifndef ENGRAM_SHARD_WATCHDOG_H_
#define ENGRAM_SHARD_WATCHDOG_H_

#include <string>
#include <thread>

#include "absl/time/time.h"
#include "model/mutex.h"
#include "shard/deadline.h"

namespace engram {

// From construction to destruction `limit` may pass; after it the process says what hung and leaves with exit code 75
// (a rank was lost), so that the launcher ends the others.
class Watchdog {
 public:
  Watchdog(std::string what, absl::Duration limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void Watch(absl::Duration limit);

  const std::string what_;
  Mutex mu_;
  CondVar changed_;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_WATCHDOG_H_
