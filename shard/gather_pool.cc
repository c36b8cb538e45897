#include "shard/gather_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

// The layers of a round, and rounds under load, follow each other faster than a sleeper wakes; any longer and idle
// threads would take processors from others.
constexpr std::chrono::microseconds kWatch{20};

// Waits until `value` is no longer `old`: awake for kWatch, then asleep.
void AwaitChange(const std::atomic<uint32_t>& value, uint32_t old) {
  const auto begin = std::chrono::steady_clock::now();
  while (value.load(std::memory_order_acquire) == old) {
    if (std::chrono::steady_clock::now() - begin > kWatch) value.wait(old, std::memory_order_acquire);
  }
}

}  // namespace

int DefaultGatherThreads(int allowed, int online, int local_ranks) {
  // A rank that was bound to some processors has those; ranks that were not bound share all.
  const int share = std::min(allowed, online / local_ranks);
  return std::clamp(share / 2, 1, 8);
}

int DefaultGatherThreads(int local_ranks) {
  const int online = static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  cpu_set_t allowed;
  // Fails where there are more processors than the set has room for: it is all of them then, as far as we know.
  const int count = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : online;
  return DefaultGatherThreads(count, online, local_ranks);
}

absl::StatusOr<std::unique_ptr<GatherPool>> GatherPool::Start(int threads, size_t piece_rows_min) {
  if (threads < 1 || threads > kGatherThreadsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("gather_threads is ", threads, ", must be in [1, ", kGatherThreadsMax, "]"));
  }
  std::unique_ptr<GatherPool> pool(new GatherPool(piece_rows_min));
  try {
    for (int i = 1; i < threads; ++i) {
      auto worker = std::make_unique<Worker>();
      worker->thread = std::thread([raw = pool.get(), mine = worker.get()] { raw->Serve(*mine); });
      pool->workers_.push_back(std::move(worker));
    }
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start ", threads, " threads that gather (gather_threads): ", error.what()));
  }
  return pool;
}

GatherPool::~GatherPool() {
  for (const auto& worker : workers_) {
    worker->work = nullptr;
    HandOver(*worker);
  }
  for (const auto& worker : workers_) worker->thread.join();
}

size_t GatherPool::PiecesOf(size_t rows) const {
  return std::clamp<size_t>(rows / piece_rows_min_, 1, workers_.size() + 1);
}

void GatherPool::Run(size_t rows, Work work) {
  const size_t pieces = PiecesOf(rows);
  pending_.store(static_cast<uint32_t>(pieces - 1), std::memory_order_relaxed);
  for (size_t piece = 1; piece < pieces; ++piece) {
    Worker& worker = *workers_[piece - 1];
    worker.work = &work;
    worker.piece = piece;
    worker.begin = rows * piece / pieces;
    worker.end = rows * (piece + 1) / pieces;
    HandOver(worker);
  }
  work(0, 0, rows / pieces);
  for (uint32_t left = 0; (left = pending_.load(std::memory_order_acquire)) != 0;) AwaitChange(pending_, left);
}

void GatherPool::HandOver(Worker& worker) {
  worker.turn.fetch_add(1, std::memory_order_release);
  worker.turn.notify_one();
}

void GatherPool::Serve(Worker& worker) {
  for (uint32_t seen = 0;; ++seen) {
    AwaitChange(worker.turn, seen);
    if (worker.work == nullptr) return;
    (*worker.work)(worker.piece, worker.begin, worker.end);
    // The pool outlives this: its destructor waits for us.
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace engram
