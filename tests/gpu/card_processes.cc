#include "tests/gpu/card_processes.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/gpu/device_memory.h"
#include "tests/gpu/rank_processes.h"

namespace engram {
namespace {

constexpr absl::Duration kCountingMax = absl::Minutes(2);  // the first use of a driver can take long

// What the operator said stays.
void SetDefault(const char* name, const std::string& value) { (void)setenv(name, value.c_str(), /*overwrite=*/0); }

int PrintDevices(Collective& /*alone*/) {
  const absl::StatusOr<int> devices = CountDevices();
  std::fputs(devices.ok() ? absl::StrCat(*devices).c_str() : std::string(devices.status().message()).c_str(), stdout);
  return devices.ok() ? 0 : 1;
}

}  // namespace

absl::StatusOr<int> CountDevicesElsewhere() {
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<RankExit> exits, RunRankProcesses(1, kCountingMax, PrintDevices));
  int devices = 0;
  if (exits[0].ok && absl::SimpleAtoi(exits[0].output, &devices) && devices > 0) return devices;
  return absl::UnavailableError(exits[0].output.empty() ? exits[0].how : exits[0].output);
}

absl::StatusOr<int> ChooseDevice(int rank, int ranks) {
  ENGRAM_ASSIGN_OR_RETURN(const int devices, CountDevices());
  if (devices == 0) return absl::UnavailableError("the driver sees no device");
  SetDefault("NCCL_SOCKET_IFNAME", "lo");
  if (ranks > devices) {
    // Ranks of one turn have cards of their own and stay one host: they use what joins the cards.
    SetDefault("NCCL_HOSTID", absl::StrCat("engram-turn-", rank / devices));
    SetDefault("NCCL_NET", "Socket");
  }
  return rank % devices;
}

}  // namespace engram
