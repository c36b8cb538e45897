// Brings frames to their streams, off the thread that gathers where that pays.

#ifndef ENGRAM_SERVER_FRAME_SENDER_H_
#define ENGRAM_SERVER_FRAME_SENDER_H_

#include <deque>
#include <memory>
#include <thread>

#include "model/mutex.h"
#include "server/reply_frame.h"
#include "server/stage_counters.h"

namespace engram {

// To deliver a frame often means to write a megabyte to a socket. With a thread of its own the sender does that for
// frames of large steps, while the caller gathers the next ones; frames of decode steps, small and urgent, are
// delivered by the caller. All frames of a step are of one kind, so their order stands. What waits is bounded by
// whoever leases the payloads.
class FrameSender {
 public:
  // `stages`, which must outlive it, is told the time that deliveries take.
  FrameSender(bool own_thread, StageCounters& stages);
  // Delivers what waits.
  ~FrameSender();

  // Callers take turns. A null sink takes nothing.
  void Send(std::shared_ptr<FrameSink> sink, ReplyFrame frame);

 private:
  struct Waiting {
    std::shared_ptr<FrameSink> sink;
    ReplyFrame frame;
  };

  void Deliver(Waiting waiting);
  void Run();
  // False when none is left and none will come.
  bool Next(Waiting& next);

  StageCounters& stages_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace engram

#endif  // ENGRAM_SERVER_FRAME_SENDER_H_
