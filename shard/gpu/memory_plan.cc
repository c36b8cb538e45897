#include "shard/gpu/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace engram {
namespace {

struct LayerNeed {
  uint32_t layer_id = 0;
  Placement placement = Placement::kDevice;
  ShardRange range;
  uint64_t bytes = 0;  // on the side that the placement says

  uint64_t on(Placement side) const { return placement == side ? bytes : 0; }
};

std::vector<LayerNeed> LayerNeeds(const GpuLoad& load) {
  const Geometry& geometry = load.geometry;
  std::vector<LayerNeed> needs;
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    const ShardRange range =
        ShardOf(geometry.rows[layer], static_cast<size_t>(load.rank), static_cast<size_t>(load.ranks));
    needs.push_back({geometry.layer_ids[layer], load.options.PlacementOf(layer), range,
                     LayoutOf(range.end - range.begin, geometry.head_dim).total()});
  }
  return needs;
}

// Needs and what there is, on both sides. Bytes.
struct Balance {
  uint64_t device_needed = 0;
  uint64_t device_limit = 0;  // what is free without the reserve
  uint64_t host_needed = 0;
  uint64_t host_limit = 0;  // a rank's part of what is available: the others of this host need as much

  bool fits() const { return device_needed <= device_limit && host_needed <= host_limit; }
};

Balance BalanceOf(const std::vector<LayerNeed>& needs, RoundBytes rounds, uint64_t replies, const MemoryThere& there,
                  uint64_t local_ranks) {
  const uint64_t reserve = DeviceReserve(there.device_total);
  Balance balance;
  balance.device_needed = rounds.device;
  balance.device_limit = there.device_free - std::min(there.device_free, reserve);
  balance.host_needed = rounds.pinned + replies;
  balance.host_limit = there.host_available / local_ranks;
  for (const LayerNeed& need : needs) {
    balance.device_needed += need.on(Placement::kDevice);
    balance.host_needed += need.on(Placement::kHostPinned);
  }
  return balance;
}

std::vector<std::string> Lines(const std::vector<LayerNeed>& needs, RoundBytes rounds, uint64_t replies,
                               const MemoryThere& there, const Balance& balance) {
  std::vector<std::string> lines;
  for (const LayerNeed& need : needs) {
    lines.push_back(absl::StrCat("layer ", need.layer_id, ": ", std::string(NameOf(need.placement)), ", rows [",
                                 need.range.begin, ", ", need.range.end, "): ", need.on(Placement::kDevice),
                                 " bytes on the device, ", need.on(Placement::kHostPinned), " on the host"));
  }
  lines.push_back(absl::StrCat("rounds: ", rounds.device, " bytes on the device, ", rounds.pinned, " on the host"));
  if (replies > 0) lines.push_back(absl::StrCat("replies: ", replies, " bytes on the host"));
  lines.push_back(absl::StrCat(there.device, ": ", balance.device_needed, " bytes needed, ", there.device_free, " of ",
                               there.device_total, " free, ", DeviceReserve(there.device_total),
                               " of them kept in reserve"));
  const bool alone = balance.host_limit == there.host_available;
  lines.push_back(absl::StrCat("host: ", balance.host_needed, " bytes of pinned memory needed, ", there.host_available,
                               " available", alone ? "" : absl::StrCat(", ", balance.host_limit, " of them a rank")));
  return lines;
}

// DEVICE layers, as few as make room for `missing` bytes, and no larger than needed; empty when all are too few.
std::vector<const LayerNeed*> LayersToMove(const std::vector<LayerNeed>& needs, uint64_t missing) {
  std::vector<const LayerNeed*> left;  // ascending
  for (const LayerNeed& need : needs) {
    if (need.on(Placement::kDevice) > 0) left.push_back(&need);
  }
  std::stable_sort(left.begin(), left.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  std::vector<const LayerNeed*> moved;
  while (!left.empty()) {
    const auto enough =
        std::find_if(left.begin(), left.end(), [missing](const auto* need) { return need->bytes >= missing; });
    moved.push_back(enough == left.end() ? left.back() : *enough);
    if (enough != left.end()) return moved;
    missing -= left.back()->bytes;
    left.pop_back();
  }
  return {};
}

// What to change, for the end of the error; empty where nothing of this kind helps.
std::string Hint(const std::vector<LayerNeed>& needs, RoundBytes rounds, const Balance& balance) {
  if (balance.device_needed <= balance.device_limit) return "";
  if (rounds.device > balance.device_limit) return "; a smaller scheduling.round_bytes_max makes the rounds smaller";
  const std::vector<const LayerNeed*> moved = LayersToMove(needs, balance.device_needed - balance.device_limit);
  const uint64_t bytes = std::accumulate(moved.begin(), moved.end(), uint64_t{0},
                                         [](uint64_t sum, const auto* need) { return sum + need->bytes; });
  if (moved.empty() || balance.host_needed + bytes > balance.host_limit) return "";
  const std::string layers =
      absl::StrJoin(moved, " and ", [](std::string* out, const auto* need) { absl::StrAppend(out, need->layer_id); });
  return absl::StrCat("; it fits with layer", moved.size() > 1 ? "s " : " ", layers,
                      " in HOST_PINNED (sharding.layer_placements)");
}

}  // namespace

TableLayout LayoutOf(uint64_t rows, uint32_t head_dim) {
  TableLayout layout;
  layout.codes = rows * head_dim;
  layout.scales = rows * (head_dim / kScaleBlock);
  layout.scales_begin = (layout.codes + kTablePartAlignment - 1) / kTablePartAlignment * kTablePartAlignment;
  return layout;
}

uint64_t DeviceReserve(uint64_t total) { return std::max(kDeviceReserveLeast, total / 100 * kDeviceReservePercent); }

absl::StatusOr<std::vector<std::string>> PlanMemory(const GpuLoad& load, RoundBytes rounds, const MemoryThere& there) {
  const std::vector<LayerNeed> needs = LayerNeeds(load);
  // The front end's, pinned when the rows are loaded.
  const uint64_t replies = load.rank == 0 ? load.options.reply_bytes : 0;
  const Balance balance = BalanceOf(needs, rounds, replies, there, static_cast<uint64_t>(load.local_ranks));
  std::vector<std::string> lines = Lines(needs, rounds, replies, there, balance);
  if (balance.fits()) return lines;
  return absl::ResourceExhaustedError(absl::StrCat("rank ", load.rank, " of ", load.ranks, " does not fit: ",
                                                   absl::StrJoin(lines, "; "), Hint(needs, rounds, balance)));
}

}  // namespace engram
