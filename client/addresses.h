// Which of its servers a client tries next.

#ifndef ENGRAM_CLIENT_ADDRESSES_H_
#define ENGRAM_CLIENT_ADDRESSES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace engram {

// Whether a server that answered Hello so would answer the next one the same: authentication, another model, a service
// that is not there.
bool IsPermanentRefusal(const absl::Status& status);

// Addresses in turn, and what each said last. Not thread-safe.
class Addresses {
 public:
  explicit Addresses(std::vector<std::string> addresses)
      : addresses_(std::move(addresses)), last_(addresses_.size(), absl::OkStatus()) {}

  const std::string& current() const { return addresses_[current_]; }

  // The current one cannot be used now: moves on. True when every address has failed once more since the last
  // Succeeded: time to back off.
  bool Failed(const absl::Status& why);
  // The current one answered Hello.
  void Welcomed() { last_[current_] = absl::OkStatus(); }
  // The current one answered a step.
  void Succeeded() { failures_ = 0; }

  // OK unless the last word of every address is a permanent refusal; then all of them under the first one's code.
  absl::Status AllRefuse() const;

 private:
  const std::vector<std::string> addresses_;  // at least one
  std::vector<absl::Status> last_;            // [addresses]
  size_t current_ = 0;
  size_t failures_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_ADDRESSES_H_
