// Checked calls of MPI. Private to the MPI files of shard/.

#ifndef ENGRAM_SHARD_MPI_CHECK_H_
#define ENGRAM_SHARD_MPI_CHECK_H_

// The C++ bindings were removed from MPI; their headers drag in a second library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {

// UNAVAILABLE with MPI's own words: after a failed call a peer or the transport is gone.
inline absl::Status MpiStatus(int result, const char* call) {
  if (result == MPI_SUCCESS) return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  return absl::UnavailableError(absl::StrCat(call, ": ", text));
}

}  // namespace engram

#define ENGRAM_RETURN_IF_MPI_ERROR(call) ENGRAM_RETURN_IF_ERROR(::engram::MpiStatus((call), #call))

#endif  // ENGRAM_SHARD_MPI_CHECK_H_
