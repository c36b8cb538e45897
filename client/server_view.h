// What the server at the other end of a connection is sure to know of one session.

#ifndef ENGRAM_CLIENT_SERVER_VIEW_H_
#define ENGRAM_CLIENT_SERVER_VIEW_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "model/mutex.h"

namespace engram {

// A session's history is the outcome of its edits, numbered from 1 as the session made them. A server knows the history
// after edit E for sure when the last segment it was sent of this session was edit E and it has accepted it: only then
// may edit E + 1 go without a seed. Anything else (another connection, an answer that is still due, a refusal, a step
// that was sent twice or never) is "not sure", and a seed makes it sure again. Shared by a session and its segments on
// their way; thread-safe.
class ServerView {
 public:
  // Whether the server of connection `link` holds the history after `edit`, at least from position `begin` on.
  bool Knows(uint64_t link, uint64_t edit, uint64_t begin) const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return sure_ && link == link_ && edit == edit_ && begin_ <= begin;
  }

  // A segment of the session goes out on `link` as part of step `step_id`.
  void NoteSent(uint64_t link, uint64_t step_id) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    sure_ = false;
    link_ = link;
    step_id_ = step_id;
  }

  // It was accepted, as edit `edit`. With a seed the server's history begins at `begin` now, else where it began.
  void NoteAccepted(uint64_t link, uint64_t step_id, uint64_t edit, bool seeded, uint64_t begin)
      ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    if (link != link_ || step_id != step_id_) return;  // a later segment was sent since
    sure_ = true;
    edit_ = edit;
    if (seeded) begin_ = begin;
  }

 private:
  mutable Mutex mu_;
  bool sure_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t link_ ABSL_GUARDED_BY(mu_) = 0;     // the last segment's connection
  uint64_t step_id_ ABSL_GUARDED_BY(mu_) = 0;  // and step there
  uint64_t edit_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t begin_ ABSL_GUARDED_BY(mu_) = 0;  // where the server's history begins
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_SERVER_VIEW_H_
