// What a request would cost to decode, read off its bytes before anything is made of them.

#ifndef ENGRAM_SERVER_WIRE_SCAN_H_
#define ENGRAM_SERVER_WIRE_SCAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "engram/v1/engram.pb.h"
#include "google/protobuf/io/zero_copy_stream.h"

namespace engram {

// An empty Segment takes two bytes on the wire and a hundred when it is decoded; a field that is not known, dozens.
struct WireScan {
  bool well_formed = false;  // as far as was looked; strings and packed numbers were not
  bool is_step = false;
  uint64_t step_id = 0;
  uint64_t segments = 0;        // of the step
  uint64_t unknown_fields = 0;  // of the whole message, at any depth
};

// Both read `bytes` to the end: O(fields), without allocation. They agree with Protobuf's own parser on every message
// that is well formed and has no groups, which this protocol has none of.
WireScan ScanClientMessage(google::protobuf::io::ZeroCopyInputStream& bytes);
WireScan ScanLookupRequest(google::protobuf::io::ZeroCopyInputStream& bytes);

// INVALID_ARGUMENT where the message has more unknown fields than any newer client would send: it is not decoded.
absl::Status CheckUnknownFields(const WireScan& scan, const v1::Limits& limits);

}  // namespace engram

#endif  // ENGRAM_SERVER_WIRE_SCAN_H_
