// Validation of one segment: everything that can be said without looking at the sessions.

#ifndef ENGRAM_SERVER_SEGMENT_CHECK_H_
#define ENGRAM_SERVER_SEGMENT_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"
#include "model/hash_constants.h"
#include "server/session_store.h"

namespace engram {

// Longest client_id, in bytes.
inline constexpr size_t kClientIdBytesMax = 256;

// INVALID_ARGUMENT unless `client_id`, given as `field`, may name a name space.
absl::Status CheckClientId(const std::string& field, const std::string& client_id);

// Checks segments against one model. The arguments must outlive it. Immutable, thread-safe.
class SegmentCheck {
 public:
  SegmentCheck(const Geometry& geometry, const HashConstants& constants, const std::string& constants_digest)
      : geometry_(geometry), constants_(constants), constants_digest_(constants_digest) {}

  // Checks start_pos, mask and tokens and writes the compressed ids (kDead where masked) to out [segment tokens].
  // INVALID_ARGUMENT naming the field below `path` ("segments[3]"), its value and the bound.
  absl::Status Tokens(const std::string& path, const v1::Segment& segment, absl::Span<int32_t> out) const;

  // Checks the seed and puts it in the store's terms; `client` is the name space a ForkFrom without client_id means.
  // INVALID_ARGUMENT, or FAILED_PRECONDITION for another constants_digest.
  absl::StatusOr<SessionSeed> Seed(const std::string& path, const v1::Segment& segment,
                                   const std::string& client) const;

 private:
  absl::Status Compress(const std::string& path, absl::Span<const uint32_t> tokens, const std::string& mask,
                        absl::Span<int32_t> out) const;
  absl::StatusOr<SessionSeed> SeedOf(const std::string& path, const v1::Lookback& lookback, uint64_t start_pos) const;
  absl::StatusOr<SessionSeed> SeedOf(const std::string& path, const v1::HashState& state, uint64_t start_pos) const;
  absl::StatusOr<SessionSeed> SeedOf(const std::string& path, const v1::ForkFrom& fork, uint64_t start_pos,
                                     const std::string& client) const;
  uint64_t LookbackAt(uint64_t position) const;

  const Geometry& geometry_;
  const HashConstants& constants_;
  const std::string& constants_digest_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_SEGMENT_CHECK_H_
