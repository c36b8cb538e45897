// Messages between ranks that are threads of one process.

#ifndef ENGRAM_SHARD_IN_PROCESS_GROUP_H_
#define ENGRAM_SHARD_IN_PROCESS_GROUP_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/mutex.h"
#include "shard/deadline.h"

namespace engram {

// A channel in order for each pair of ranks. Outlives its users; thread-safe, each rank speaking from one thread at a
// time.
//
// Small messages are copied and sent at once; of large ones the receiver reads the sender's memory, so that Flush
// returns only when it has (or has lost its chance to).
class InProcessGroup {
 public:
  explicit InProcessGroup(int ranks);

  int ranks() const { return ranks_; }

  // Puts `bytes` on the way; they must stay as they are until Flush returns.
  void Post(int from, int to, absl::Span<const std::byte> bytes) ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until all that `from` posted to others has been read. UNAVAILABLE naming the ranks that have not by
  // `deadline`; they will not any more.
  absl::Status Flush(int from, Deadline deadline) ABSL_LOCKS_EXCLUDED(mu_);
  // The next message of `from`, handed to `read` without a lock held. INTERNAL if it has not `size` bytes, UNAVAILABLE
  // when there is none by `deadline`.
  absl::Status Take(int from, int to, size_t size, Deadline deadline,
                    absl::FunctionRef<void(absl::Span<const std::byte>)> read) ABSL_LOCKS_EXCLUDED(mu_);

  // Every wait, present and future, fails at once.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  enum class State { kPosted, kReading, kRead };
  struct Message {
    int to = 0;
    std::vector<std::byte> copy;
    absl::Span<const std::byte> bytes;  // of `copy`, or the sender's
    State state = State::kPosted;
  };
  using Channel = std::deque<std::shared_ptr<Message>>;

  Channel& ChannelOf(int from, int to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The first message of a channel, now kReading. Null without one.
  std::shared_ptr<Message> Pop(int from, int to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of what `from` lent: how many are not kRead; takes back those still kPosted where `give_up`.
  std::string Unread(int from, bool give_up, bool& reading) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Silence(int rank) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int ranks_;

  Mutex mu_;
  std::vector<CondVar> changed_;  // [ranks]: something for that rank changed; a condition variable locks for itself
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Channel> channels_ ABSL_GUARDED_BY(mu_);                            // [from, to]
  std::vector<std::vector<std::shared_ptr<Message>>> lent_ ABSL_GUARDED_BY(mu_);  // [from]: large messages not flushed
};

}  // namespace engram

#endif  // ENGRAM_SHARD_IN_PROCESS_GROUP_H_
