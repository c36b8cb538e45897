// What a step may not be, whatever the server: found before it is sent, because a server that cannot read a request
// ends the whole stream.

#ifndef ENGRAM_CLIENT_STEP_LIMITS_H_
#define ENGRAM_CLIENT_STEP_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// INVALID_ARGUMENT naming `field` unless a protobuf string may hold `text`: a message with another one is undecodable.
absl::Status CheckUtf8(absl::string_view field, const std::string& text);

// INVALID_ARGUMENT for a string in the request that is not UTF-8.
absl::Status CheckStrings(const v1::StepRequest& request);

// How much a step is, as the server counts.
struct StepSize {
  uint64_t tokens = 0;
  uint64_t lookback = 0;  // tokens of it beyond those that hashing needs, which are free
  uint64_t bytes = 0;     // serialised
};
// `lookback_free` is the model's max_ngram_size - 1; `bytes` as the request knows.
StepSize SizeOf(const v1::StepRequest& request, uint64_t lookback_free, uint64_t bytes);

// RESOURCE_EXHAUSTED naming value and bound where the server's limits refuse a step of this size. Limits that are 0 are
// unknown.
absl::Status CheckLimits(const v1::StepRequest& request, const StepSize& size, const v1::Limits& limits);

}  // namespace engram

#endif  // ENGRAM_CLIENT_STEP_LIMITS_H_
