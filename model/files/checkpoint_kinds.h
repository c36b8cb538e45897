// The two kinds of checkpoints, opened up to their constants and tables.

#ifndef ENGRAM_MODEL_FILES_CHECKPOINT_KINDS_H_
#define ENGRAM_MODEL_FILES_CHECKPOINT_KINDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/files/checkpoint.h"

namespace engram {

// A Checkpoint whose name and digests are still empty; arguments and errors as OpenCheckpoint's.
absl::StatusOr<Checkpoint> OpenSafetensorsCheckpoint(const std::string& folder, const std::string& hash_constants_path);
absl::StatusOr<Checkpoint> OpenGgufCheckpoint(const std::string& path, const std::string& hash_constants_path);

// FAILED_PRECONDITION naming the first element at which two sources of one constant differ, both values and both
// sources.
absl::Status CheckAgreement(const std::string& name, const std::vector<int64_t>& a, const std::string& a_source,
                            const std::vector<int64_t>& b, const std::string& b_source);
absl::Status CheckAgreement(const HashConstants& a, const std::string& a_source, const HashConstants& b,
                            const std::string& b_source);

// For files that do not say where the search for primes began: from the first one on each must be the next prime.
// FAILED_PRECONDITION naming the first that is not. `primes` has passed ValidateHashConstants.
absl::Status CheckPrimesAreARun(const Geometry& geometry, const std::vector<int64_t>& primes,
                                const std::string& source);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_CHECKPOINT_KINDS_H_
