// Passing absl::Status on, with the place prefixed.

#ifndef ENGRAM_MODEL_FILES_ERRORS_H_
#define ENGRAM_MODEL_FILES_ERRORS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#define ENGRAM_RETURN_IF_ERROR(expression)                                \
  do {                                                                    \
    if (absl::Status engram_status = (expression); !engram_status.ok()) { \
      return engram_status;                                               \
    }                                                                     \
  } while (false)

#define ENGRAM_CONCAT_INNER(a, b) a##b
#define ENGRAM_CONCAT(a, b) ENGRAM_CONCAT_INNER(a, b)
#define ENGRAM_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return result.status();                       \
  target = std::move(result).value()
// `target` declares or names what gets the value: ENGRAM_ASSIGN_OR_RETURN(File file, File::Open(path));
#define ENGRAM_ASSIGN_OR_RETURN(target, expression) \
  ENGRAM_ASSIGN_OR_RETURN_INNER(ENGRAM_CONCAT(engram_result_, __LINE__), target, expression)

namespace engram {

// The same error with "where: " before its message; OK stays OK.
inline absl::Status Annotate(const absl::Status& status, const std::string& where) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_ERRORS_H_
