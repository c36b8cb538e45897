#include "model/files/checkpoint.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "model/files/checkpoint_kinds.h"
#include "model/files/errors.h"
#include "model/files/model_digest.h"
#include "model/files/table_extents.h"

namespace engram {
namespace {

// The last part of the path, also of "." and of "folder/".
std::string BaseName(const std::string& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  return absolute.filename().string();
}

std::vector<int64_t> Widened(const std::vector<int32_t>& values) { return {values.begin(), values.end()}; }

}  // namespace

absl::Status CheckAgreement(const std::string& name, const std::vector<int64_t>& a, const std::string& a_source,
                            const std::vector<int64_t>& b, const std::string& b_source) {
  if (a.size() != b.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " has ", a.size(), " elements in ", a_source, ", but ", b.size(), " in ", b_source));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(name, "[", i, "] is ", a[i], " in ", a_source, ", but ", b[i], " in ", b_source));
  }
  return absl::OkStatus();
}

absl::Status CheckAgreement(const HashConstants& a, const std::string& a_source, const HashConstants& b,
                            const std::string& b_source) {
  ENGRAM_RETURN_IF_ERROR(CheckAgreement("token_map", Widened(a.token_map), a_source, Widened(b.token_map), b_source));
  ENGRAM_RETURN_IF_ERROR(CheckAgreement("pad_id", {a.pad_id}, a_source, {b.pad_id}, b_source));
  ENGRAM_RETURN_IF_ERROR(CheckAgreement("multipliers", a.multipliers, a_source, b.multipliers, b_source));
  ENGRAM_RETURN_IF_ERROR(CheckAgreement("primes", a.primes, a_source, b.primes, b_source));
  return CheckAgreement("offsets", a.offsets, a_source, b.offsets, b_source);
}

absl::Status CheckPrimesAreARun(const Geometry& geometry, const std::vector<int64_t>& primes,
                                const std::string& source) {
  const auto first = static_cast<uint64_t>(primes.front());
  return CheckAgreement("primes", primes, source, DerivePrimes(geometry, first),
                        absl::StrCat("the primes from ", first));
}

absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& path, const std::string& hash_constants_path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  auto checkpoint =
      is_folder ? OpenSafetensorsCheckpoint(path, hash_constants_path) : OpenGgufCheckpoint(path, hash_constants_path);
  if (!checkpoint.ok()) return checkpoint;
  ENGRAM_RETURN_IF_ERROR(CheckApart(checkpoint->tables, checkpoint->geometry.layer_ids));
  checkpoint->name = BaseName(path);
  checkpoint->constants_digest = ConstantsDigest(checkpoint->geometry, checkpoint->constants);
  ENGRAM_ASSIGN_OR_RETURN(checkpoint->model_digest,
                          ModelDigest(checkpoint->geometry, checkpoint->constants_digest, checkpoint->tables));
  return checkpoint;
}

}  // namespace engram
