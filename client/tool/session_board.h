// Sessions that one stream has written to their end, for other streams of the run to fork from.

#ifndef ENGRAM_CLIENT_TOOL_SESSION_BOARD_H_
#define ENGRAM_CLIENT_TOOL_SESSION_BOARD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "client/tool/token_source.h"
#include "model/mutex.h"

namespace engram {

// Its last write was answered and no other follows, so whoever forks from it knows what must come back. The stream
// that wrote it closes it once it was withdrawn and nobody else holds it.
struct PublishedSession {
  std::string client_id;
  uint64_t session_id = 0;
  Sequence sequence;
  uint64_t known_from = 0;  // as Traffic::Live
};

// Of one server. Thread-safe; outlives the streams.
class SessionBoard {
 public:
  using Entry = std::shared_ptr<const PublishedSession>;

  void Publish(Entry entry) ABSL_LOCKS_EXCLUDED(mu_);
  // Nobody finds it from here on.
  void Withdraw(const Entry& entry) ABSL_LOCKS_EXCLUDED(mu_);
  // Null when there is none. Held, it stays open on the server.
  Entry Any(TrafficRandom& random) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_SESSION_BOARD_H_
