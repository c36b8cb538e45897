#include "client/load/answer_checks.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

constexpr uint64_t kStepBytes = 1024;  // of a step itself, so that steps without rows are bounded too

uint64_t BytesOf(const StepResult& result) {
  uint64_t bytes = kStepBytes;
  for (const LayerRows& layer : result.layers) bytes += layer.bytes().size();
  return bytes;
}

}  // namespace

AnswerChecks::AnswerChecks(AnswerCheck check, uint64_t bytes_max, std::function<void()> failed)
    : check_(std::move(check)), bytes_max_(bytes_max), failed_(std::move(failed)), thread_([this] { Work(); }) {}

AnswerChecks::~AnswerChecks() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void AnswerChecks::Push(std::string where, LoadStep step, StepResult result) {
  Job job{std::move(where), std::move(step), std::move(result), 0};
  job.bytes = BytesOf(job.result);
  MutexLock lock(mu_);
  while (!jobs_.empty() && bytes_ + job.bytes > bytes_max_) changed_.WaitFor(mu_, absl::InfiniteDuration());
  if (!found_.failure.empty()) return;
  bytes_ += job.bytes;
  jobs_.push_back(std::move(job));
  changed_.NotifyAll();
}

CheckedAnswers AnswerChecks::Finish() {
  MutexLock lock(mu_);
  while (!jobs_.empty()) changed_.WaitFor(mu_, absl::InfiniteDuration());
  return found_;
}

void AnswerChecks::Work() {
  while (true) {
    const Job* job = nullptr;
    {
      MutexLock lock(mu_);
      while (jobs_.empty() && !stopping_) changed_.WaitFor(mu_, absl::InfiniteDuration());
      if (jobs_.empty()) return;
      job = &jobs_.front();  // stays where it is: others push behind it only
    }
    Enter(*job, check_(job->step, job->result));
  }
}

void AnswerChecks::Enter(const Job& job, const absl::StatusOr<uint64_t>& rows) {
  const std::string where = job.where;
  {
    MutexLock lock(mu_);
    ++found_.steps;
    if (rows.ok()) {
      found_.rows += *rows;
      bytes_ -= job.bytes;
      jobs_.pop_front();
    } else {
      found_.failure = absl::StrCat(where, ": ", rows.status().message());
      bytes_ = 0;
      jobs_.clear();
    }
    changed_.NotifyAll();
  }
  if (!rows.ok()) failed_();
}

}  // namespace engram
