#include "client/tool/verify_servers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/connection.h"
#include "client/model_geometry.h"
#include "client/tool/report.h"
#include "model/digest.h"

namespace engram {
namespace {

constexpr absl::Duration kReachTimeout = absl::Seconds(10);

absl::Status Differ(const std::string& what, const std::string& one, const std::string& one_digest,
                    const std::string& other, const std::string& other_digest) {
  return absl::FailedPreconditionError(absl::StrCat("the ", what, " of ", one, " is ", HexOf(one_digest), ", that of ",
                                                    other, " ", HexOf(other_digest)));
}

// Sequences move between the servers, so a state of one must mean the same to another.
absl::Status CheckSame(const ServerUnderTest& one, const ServerUnderTest& other) {
  if (one.model.constants_digest() != other.model.constants_digest()) {
    return Differ("constants_digest", one.address, one.model.constants_digest(), other.address,
                  other.model.constants_digest());
  }
  if (one.model.model_digest() != other.model.model_digest()) {
    return Differ("model_digest", one.address, one.model.model_digest(), other.address, other.model.model_digest());
  }
  return absl::OkStatus();
}

// The server must hold what the files hold, or comparing rows means nothing.
absl::Status CheckIdentity(const ServerUnderTest& server, const Checkpoint& checkpoint) {
  const absl::StatusOr<Geometry> geometry = GeometryOf(server.model);
  if (!geometry.ok()) return geometry.status();
  if (*geometry != checkpoint.geometry) {
    return absl::FailedPreconditionError(
        absl::StrCat("the geometry of ", server.address, " is not the checkpoint's: compare `engram info` of both"));
  }
  if (server.model.constants_digest() != checkpoint.constants_digest) {
    return Differ("constants_digest", server.address, server.model.constants_digest(), "the checkpoint",
                  checkpoint.constants_digest);
  }
  if (server.model.model_digest() != checkpoint.model_digest) {
    return Differ("model_digest", server.address, server.model.model_digest(), "the checkpoint",
                  checkpoint.model_digest);
  }
  return absl::OkStatus();
}

// What was asked for and the server has.
absl::Status ChooseFormats(const std::string& wanted, ServerUnderTest& server) {
  absl::StatusOr<std::vector<v1::RowFormat>> formats = ParseRowFormats(wanted);
  if (!formats.ok()) return formats.status();
  const auto absent = [&server](v1::RowFormat format) {
    return std::find(server.model.formats().begin(), server.model.formats().end(), format) ==
           server.model.formats().end();
  };
  formats->erase(std::remove_if(formats->begin(), formats->end(), absent), formats->end());
  if (formats->empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(server.address, " (", server.model.combine(), ") has none of --formats ", wanted));
  }
  server.formats = *std::move(formats);
  return absl::OkStatus();
}

}  // namespace

bool ServerUnderTest::can(const std::string& capability) const {
  const auto& all = model.capabilities();
  return std::find(all.begin(), all.end(), capability) != all.end();
}

absl::StatusOr<std::vector<ServerUnderTest>> ReachServers(const std::vector<std::string>& addresses,
                                                          const std::string& formats, const Checkpoint& checkpoint) {
  std::vector<ServerUnderTest> servers;
  for (const std::string& address : addresses) {
    absl::StatusOr<v1::Model> model = FetchModel(address, kReachTimeout);
    if (!model.ok()) return model.status();
    servers.push_back({address, *std::move(model), {}});
  }
  for (ServerUnderTest& server : servers) {
    if (absl::Status status = CheckSame(servers.front(), server); !status.ok()) return status;
    if (absl::Status status = CheckIdentity(server, checkpoint); !status.ok()) return status;
    if (absl::Status status = ChooseFormats(formats, server); !status.ok()) return status;
  }
  return servers;
}

}  // namespace engram
