#include "server/process_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include "model/check.h"

namespace engram {
namespace {

constexpr std::array kStopSignals = {SIGTERM, SIGINT, SIGUSR1};

sigset_t StopSet() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) sigaddset(&set, signal);
  return set;
}

}  // namespace

void BlockStopSignals() {
  const sigset_t set = StopSet();
  ENGRAM_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
}

void IgnoreStopSignals() {
  for (const int signal : kStopSignals) std::signal(signal, SIG_IGN);
}

StopWatcher::StopWatcher(std::function<void(int)> on_stop) : on_stop_(std::move(on_stop)) {
  const sigset_t set = StopSet();
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  leave_ = eventfd(0, EFD_CLOEXEC);
  ENGRAM_CHECK(signals_ >= 0 && leave_ >= 0);
  thread_ = std::thread([this] { Watch(); });
}

StopWatcher::~StopWatcher() {
  const uint64_t one = 1;
  ENGRAM_CHECK(write(leave_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(signals_);
  close(leave_);
}

void StopWatcher::Watch() {
  std::array<pollfd, 2> waits = {pollfd{signals_, POLLIN, 0}, pollfd{leave_, POLLIN, 0}};
  while (poll(waits.data(), waits.size(), -1) < 0) ENGRAM_CHECK(errno == EINTR);
  if (waits[0].revents == 0) return;
  signalfd_siginfo info{};
  ENGRAM_CHECK(read(signals_, &info, sizeof(info)) == sizeof(info));
  on_stop_(static_cast<int>(info.ssi_signo));
}

}  // namespace engram
