// The servers that `engram verify` compares with the files.

#ifndef ENGRAM_CLIENT_TOOL_VERIFY_SERVERS_H_
#define ENGRAM_CLIENT_TOOL_VERIFY_SERVERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/tool/comparer.h"
#include "client/tool/oracle.h"
#include "engram/v1/engram.pb.h"

namespace engram {

struct ServerUnderTest {
  std::string address;
  v1::Model model;
  std::vector<v1::RowFormat> formats;  // to ask for; at least one

  bool can(const std::string& capability) const;
  // What its combine mode does to rows.
  bool minus_zero_lost() const { return model.combine() == "ALL_REDUCE_BF16" && model.ranks() > 1; }
};

// Asks each server what it serves. FAILED_PRECONDITION naming both where two servers, or a server and the checkpoint,
// are not of one identity, and where one has none of the `formats` (a list as --formats takes it); INVALID_ARGUMENT for
// the list itself; what FetchModel gives.
absl::StatusOr<std::vector<ServerUnderTest>> ReachServers(const std::vector<std::string>& addresses,
                                                          const std::string& formats, const Checkpoint& checkpoint);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_VERIFY_SERVERS_H_
