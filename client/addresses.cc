#include "client/addresses.h"

#include "absl/strings/str_cat.h"

namespace engram {

bool IsPermanentRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

bool Addresses::Failed(const absl::Status& why) {
  last_[current_] = why;
  current_ = (current_ + 1) % addresses_.size();
  return ++failures_ % addresses_.size() == 0;
}

absl::Status Addresses::AllRefuse() const {
  std::string all;
  for (size_t i = 0; i < addresses_.size(); ++i) {
    if (!IsPermanentRefusal(last_[i])) return absl::OkStatus();
    absl::StrAppend(&all, i == 0 ? "" : "; ", addresses_[i], ": ", last_[i].message());
  }
  return absl::Status(last_[0].code(), all);
}

}  // namespace engram
