#include "server/frame_sender.h"

#include <utility>

#include "absl/time/time.h"

namespace engram {

FrameSender::FrameSender(bool own_thread, StageCounters& stages) : stages_(stages) {
  if (own_thread) thread_ = std::thread([this] { Run(); });
}

FrameSender::~FrameSender() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mu_);
    over_ = true;
  }
  changed_.NotifyOne();
  thread_.join();
}

void FrameSender::Send(std::shared_ptr<FrameSink> sink, ReplyFrame frame) {
  if (sink == nullptr) return;
  if (frame.decode || !thread_.joinable()) return Deliver({std::move(sink), std::move(frame)});
  {
    MutexLock lock(mu_);
    waiting_.push_back({std::move(sink), std::move(frame)});
  }
  changed_.NotifyOne();
}

void FrameSender::Deliver(Waiting waiting) {
  const StageTimer timer(stages_, Stage::kDeliver);
  waiting.sink->Deliver(std::move(waiting.frame));
}

void FrameSender::Run() {
  for (Waiting next; Next(next);) Deliver(std::move(next));
}

bool FrameSender::Next(Waiting& next) {
  MutexLock lock(mu_);
  while (waiting_.empty() && !over_) changed_.WaitFor(mu_, absl::InfiniteDuration());
  if (waiting_.empty()) return false;
  next = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

}  // namespace engram
