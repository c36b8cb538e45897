// What the steps of one stream are: the interface, and the profiles that make their sequences up.

#ifndef ENGRAM_CLIENT_LOAD_PROFILE_H_
#define ENGRAM_CLIENT_LOAD_PROFILE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "client/load/load_session.h"
#include "client/load/load_step.h"
#include "client/load/token_draw.h"

namespace engram {

// One stream's steps. Not thread-safe. The steps must be submitted in the order they are made.
class LoadProfile {
 public:
  virtual ~LoadProfile() = default;
  // None while too few sessions are free, or at the end.
  virtual std::optional<LoadStep> Next() = 0;
  // The step was answered or given up: its sessions are free.
  virtual void Done(const LoadStep& step) = 0;
  // No step will follow.
  virtual bool ended() const = 0;
};

struct SessionProfileOptions {
  StepKind kind = StepKind::kDecode;
  uint64_t seed = 1;
  size_t sessions = 1;            // of this stream, at least `segments`
  size_t segments = 1;            // of a step, each of another session
  size_t tokens = 1;              // of a segment
  uint64_t session_tokens = 1;    // of a session at most; at least `tokens`
  uint64_t session_ids_from = 0;  // sessions get the ids above
  uint32_t lookback = 3;          // G-1
};

// Decode, prefill and speculative decoding: sessions that grow by segments of equal length until they are as long as
// they may be, drawn for each from half of session_tokens up to all of it; then they are closed and begun anew under
// their id. A step takes the sessions that were free for longest; a session has one step under way at a time. Never
// ends.
//
// Speculative: a segment is a block of drafts, written at p. Of it a random prefix of 1 to all tokens is accepted: the
// session's next block overwrites what stands behind that prefix.
class SessionProfile : public LoadProfile {
 public:
  // `pool` must outlive it.
  SessionProfile(const SessionProfileOptions& options, const TokenPool& pool);

  std::optional<LoadStep> Next() override;
  void Done(const LoadStep& step) override;
  bool ended() const override { return false; }

 private:
  struct Live {
    LoadSession session;
    std::unique_ptr<TokenDraw> draw;
    uint64_t length_max = 0;
  };

  void Begin(Live& live);
  void AddSegment(LoadStep& step, Live& live);

  const SessionProfileOptions options_;
  const TokenPool& pool_;
  LoadRandom random_;
  std::vector<Live> sessions_;
  std::deque<size_t> free_;  // longest free first
  std::vector<uint32_t> tokens_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_PROFILE_H_
