// The profile that sends recorded steps again.

#ifndef ENGRAM_CLIENT_LOAD_REPLAY_PROFILE_H_
#define ENGRAM_CLIENT_LOAD_REPLAY_PROFILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/load/arrivals.h"
#include "client/load/load_session.h"
#include "client/load/profile.h"
#include "client/load/replay_file.h"
#include "model/geometry.h"

namespace engram {

// So far back a replayed step may rewind its session, from the start of the session's last segment.
inline constexpr uint64_t kReplayRewindMax = 4096;

// Makes steps of recorded ones, in order. Not thread-safe.
class ReplaySessions {
 public:
  explicit ReplaySessions(uint32_t lookback) : lookback_(lookback) {}
  // Errors of LoadSession.
  absl::StatusOr<LoadStep> Make(const ReplayStep& recorded);

 private:
  LoadSession& Find(uint64_t session_id);

  const uint32_t lookback_;
  std::map<uint64_t, LoadSession> sessions_;  // that are open
};

// INVALID_ARGUMENT naming path:line, the value and the bound where a token is not below the geometry's vocab_size, or
// where ReplaySessions refuses a step of its stream.
absl::Status CheckReplay(const std::vector<ReplayStep>& steps, const Geometry& geometry, const std::string& path);

// One stream's steps, as they come: a session may have several under way. Ends with the last one.
class ReplayProfile : public LoadProfile {
 public:
  // `steps` passed CheckReplay and outlives it.
  ReplayProfile(const std::vector<ReplayStep>& steps, size_t stream, uint32_t lookback);

  std::optional<LoadStep> Next() override;
  void Done(const LoadStep&) override {}
  bool ended() const override { return next_ == steps_.size(); }

 private:
  std::vector<const ReplayStep*> steps_;
  size_t next_ = 0;
  ReplaySessions sessions_;
};

// The recorded starts of one stream. `steps` must outlive it.
Arrivals RecordedArrivals(const std::vector<ReplayStep>& steps, size_t stream);

}  // namespace engram

#endif  // ENGRAM_CLIENT_LOAD_REPLAY_PROFILE_H_
