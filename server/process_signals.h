// SIGTERM, SIGINT and SIGUSR1 as an ordinary event on an ordinary thread.

#ifndef ENGRAM_SERVER_PROCESS_SIGNALS_H_
#define ENGRAM_SERVER_PROCESS_SIGNALS_H_

#include <functional>
#include <thread>

namespace engram {

// Keeps the stop signals from every thread made afterwards. Call before there are any.
void BlockStopSignals();
// For ranks that leave when the front end says so.
void IgnoreStopSignals();

// Calls `on_stop` once, on a thread of its own, when the first stop signal arrives; later ones change nothing. Needs
// BlockStopSignals. The destructor waits for a call under way.
class StopWatcher {
 public:
  explicit StopWatcher(std::function<void(int signal)> on_stop);
  ~StopWatcher();
  StopWatcher(const StopWatcher&) = delete;
  StopWatcher& operator=(const StopWatcher&) = delete;

 private:
  void Watch();

  const std::function<void(int)> on_stop_;
  int signals_ = -1;  // descriptor that becomes readable with a signal
  int leave_ = -1;    // descriptor by which the destructor ends the thread
  std::thread thread_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_SIGNALS_H_
