// Every default and every bound of the configuration, in one place.

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "model/files/byte_level.h"
#include "server/config.h"
#include "server/host_port.h"

namespace engram {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = kKiB * 1024;
constexpr uint64_t kGiB = kMiB * 1024;
constexpr uint64_t kTiB = kGiB * 1024;
constexpr uint64_t kHourMs = 3600 * 1000;

// What every gRPC client takes without being told otherwise.
constexpr uint64_t kClientMessageBytes = 4 * kMiB;
constexpr size_t kNameBytesMax = 256;
constexpr uint32_t kGatherThreadsMax = 256;

struct NumberRule {
  const char* group;
  const char* field;
  uint64_t value;  // where it is absent
  uint64_t min;
  uint64_t max;
};

constexpr NumberRule kNumberRules[] = {
    {"sharding", "shards", 1, 1, 1024},
    {"sharding", "round_timeout_ms", 10000, 10, kHourMs},
    {"sharding", "heartbeat_ms", 1000, 10, kHourMs},
    {"sharding", "load_timeout_ms", kHourMs, 1000, 168 * kHourMs},
    {"sessions", "history_bytes_max", kGiB, kMiB, 16 * kTiB},
    {"sessions", "tokens_max", 1048576, 16, uint64_t{1} << 32},
    {"sessions", "sessions_max", 65536, 1, 16777216},
    {"sessions", "client_share_percent", 50, 1, 100},
    {"streams", "streams_max", 1024, 1, 65536},
    {"streams", "steps_in_flight_max", 64, 1, 65536},
    {"streams", "bytes_in_flight_max", kGiB, kMiB, 16 * kTiB},
    {"streams", "unsent_bytes_max", 16 * kMiB, 64 * kKiB, kTiB},
    {"streams", "segments_max", 4096, 1, 1048576},
    {"streams", "step_tokens_max", 65536, 1, 16777216},
    {"streams", "lookup_tokens_max", 128, 1, 65536},
    {"streams", "frame_bytes_max", kMiB, 64 * kKiB, kClientMessageBytes},
    {"streams", "hello_timeout_ms", 10000, 10, kHourMs},
    {"scheduling", "round_bytes_max", 4 * kMiB, 64 * kKiB, kGiB},
    {"scheduling", "decode_tokens_max", 64, 0, 65536},
    {"scheduling", "queue_steps_max", 4096, 1, 1048576},
    {"scheduling", "drain_timeout_ms", 30000, 1, kHourMs},
    {"shared_memory", "segment_bytes_max", kGiB, 64 * kKiB, kTiB},
    {"shared_memory", "segments_max", 4, 1, 1024},
};

constexpr const char* kPlacementNames = "HOST, MAPPED, DEVICE or HOST_PINNED";
constexpr const char* kDefaultAddress = "127.0.0.1:50061";
constexpr const char* kDefaultLevel = "info";
constexpr const char* kDefaultNamePrefix = "/engram-";
constexpr size_t kNamePrefixBytesMax = 64;
constexpr v1::CombineMode kDefaultCombine = v1::OWNER_GATHER;
constexpr v1::CombineMode kDefaultCombineOnGpus = v1::ALL_REDUCE_PACKED;
constexpr v1::Placement kDefaultPlacement = v1::MAPPED;
constexpr std::array<const char*, 5> kLevels = {"trace", "debug", "info", "warning", "error"};

const FieldDescriptor& GroupOf(const NumberRule& rule) {
  return *v1::ServerConfig::descriptor()->FindFieldByName(rule.group);
}

const FieldDescriptor& FieldOf(const NumberRule& rule) {
  return *GroupOf(rule).message_type()->FindFieldByName(rule.field);
}

bool IsNarrow(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32; }

uint64_t NumberAt(const v1::ServerConfig& config, const NumberRule& rule) {
  const Message& group = config.GetReflection()->GetMessage(config, &GroupOf(rule));
  const FieldDescriptor& field = FieldOf(rule);
  return IsNarrow(field) ? group.GetReflection()->GetUInt32(group, &field)
                         : group.GetReflection()->GetUInt64(group, &field);
}

void FillNumber(v1::ServerConfig& config, const NumberRule& rule) {
  Message& group = *config.GetReflection()->MutableMessage(&config, &GroupOf(rule));
  const FieldDescriptor& field = FieldOf(rule);
  if (group.GetReflection()->HasField(group, &field)) return;
  if (IsNarrow(field)) {
    group.GetReflection()->SetUInt32(&group, &field, static_cast<uint32_t>(rule.value));
  } else {
    group.GetReflection()->SetUInt64(&group, &field, rule.value);
  }
}

absl::Status Refuse(const std::string& field, const std::string& value, const std::string& bound) {
  return absl::InvalidArgumentError(absl::StrCat(field, " = ", value, ": must be ", bound));
}

absl::Status RefuseNumber(const char* field, uint64_t value, const std::string& bound) {
  return Refuse(field, absl::StrCat(value), bound);
}

absl::Status ValidateNumbers(const v1::ServerConfig& config) {
  for (const NumberRule& rule : kNumberRules) {
    const uint64_t value = NumberAt(config, rule);
    if (value >= rule.min && value <= rule.max) continue;
    return RefuseNumber(absl::StrCat(rule.group, ".", rule.field).c_str(), value,
                        absl::StrCat("in [", rule.min, ", ", rule.max, "]"));
  }
  return absl::OkStatus();
}

// Bounds between two fields.
absl::Status ValidatePairs(const v1::ServerConfig& config) {
  const v1::StreamLimits& streams = config.streams();
  if (streams.lookup_tokens_max() > streams.step_tokens_max()) {
    return RefuseNumber("streams.lookup_tokens_max", streams.lookup_tokens_max(),
                        absl::StrCat("at most streams.step_tokens_max ", streams.step_tokens_max()));
  }
  if (streams.unsent_bytes_max() < streams.frame_bytes_max()) {
    return RefuseNumber("streams.unsent_bytes_max", streams.unsent_bytes_max(),
                        absl::StrCat("at least streams.frame_bytes_max ", streams.frame_bytes_max()));
  }
  // Four bytes a token, twice: the largest step replaces a history of its own size.
  const uint64_t history_min = 8 * streams.step_tokens_max();
  if (config.sessions().history_bytes_max() < history_min) {
    return RefuseNumber("sessions.history_bytes_max", config.sessions().history_bytes_max(),
                        absl::StrCat("at least 8 * streams.step_tokens_max = ", history_min));
  }
  const uint64_t history_max = config.sessions().history_bytes_max();
  if (SessionLimitsOf(config).ClientShareOf(history_max) < history_min) {
    return RefuseNumber("sessions.client_share_percent", config.sessions().client_share_percent(),
                        absl::StrCat("enough for 8 * streams.step_tokens_max = ", history_min,
                                     " bytes of sessions.history_bytes_max ", history_max));
  }
  return absl::OkStatus();
}

// Text format takes any number for an enumeration, so the named values are checked here.
absl::Status ValidateEnums(const v1::ServerConfig& config) {
  const v1::Sharding& sharding = config.sharding();
  if (!v1::CombineMode_IsValid(sharding.combine())) {
    return RefuseNumber("sharding.combine", static_cast<uint64_t>(sharding.combine()),
                        "ALL_REDUCE_BF16, ALL_REDUCE_PACKED or OWNER_GATHER");
  }
  if (!v1::Placement_IsValid(sharding.placement())) {
    return RefuseNumber("sharding.placement", static_cast<uint64_t>(sharding.placement()), kPlacementNames);
  }
  if (!v1::RepeatedRows_IsValid(sharding.repeated_rows())) {
    return RefuseNumber("sharding.repeated_rows", static_cast<uint64_t>(sharding.repeated_rows()),
                        "GATHER_ONCE or GATHER_EACH");
  }
  return absl::OkStatus();
}

// Has no default here: a rank derives it from the processors it finds.
absl::Status ValidateGatherThreads(const v1::ServerConfig& config) {
  const v1::Sharding& sharding = config.sharding();
  const bool bounded = sharding.gather_threads() >= 1 && sharding.gather_threads() <= kGatherThreadsMax;
  if (!sharding.has_gather_threads() || bounded) return absl::OkStatus();
  return RefuseNumber("sharding.gather_threads", sharding.gather_threads(),
                      absl::StrCat("in [1, ", kGatherThreadsMax, "], or absent"));
}

bool IsOnGpu(v1::Placement placement) { return placement == v1::DEVICE || placement == v1::HOST_PINNED; }

// Whether the layers are all on one side depends on the model's layers: ValidateForModel.
absl::Status ValidateLayers(const v1::ServerConfig& config) {
  std::set<uint32_t> seen;
  for (int i = 0; i < config.sharding().layer_placements_size(); ++i) {
    const v1::LayerPlacement& layer = config.sharding().layer_placements(i);
    const std::string field = absl::StrCat("sharding.layer_placements[", i, "]");
    if (!layer.has_layer()) return Refuse(field + ".layer", "absent", "a decoder layer id");
    if (!seen.insert(layer.layer()).second) {
      return RefuseNumber((field + ".layer").c_str(), layer.layer(), "in the list once");
    }
    if (!v1::Placement_IsValid(layer.placement()) || layer.placement() == v1::PLACEMENT_DEFAULT) {
      return RefuseNumber((field + ".placement").c_str(), static_cast<uint64_t>(layer.placement()), kPlacementNames);
    }
  }
  return absl::OkStatus();
}

bool HasGpuRanks(const v1::Sharding& sharding) {
  const auto& layers = sharding.layer_placements();
  return IsOnGpu(sharding.placement()) ||
         std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return IsOnGpu(layer.placement()); });
}

absl::Status ValidateRepeatedRows(const v1::ServerConfig& config) {
  const v1::Sharding& sharding = config.sharding();
  if (sharding.repeated_rows() != v1::GATHER_ONCE || !HasGpuRanks(sharding)) return absl::OkStatus();
  return Refuse("sharding.repeated_rows", "GATHER_ONCE", "GATHER_EACH where layers are DEVICE or HOST_PINNED");
}

absl::Status ValidateTexts(const v1::ServerConfig& config) {
  if (const auto address = ParseHostPort(config.listen().address()); !address.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("listen.address: ", address.status().message()));
  }
  const std::string& port_file = config.listen().port_file();
  if (!port_file.empty() && port_file == config.listen().pid_file()) {
    return Refuse("listen.pid_file", port_file, "another file than listen.port_file");
  }
  if (std::find(kLevels.begin(), kLevels.end(), config.logging().level()) == kLevels.end()) {
    return Refuse("logging.level", absl::StrCat("\"", absl::CEscape(config.logging().level()), "\""),
                  "trace, debug, info, warning or error");
  }
  if (config.model().name().size() > kNameBytesMax) {
    return Refuse("model.name", absl::StrCat(config.model().name().size(), " bytes"),
                  absl::StrCat("at most ", kNameBytesMax, " bytes"));
  }
  if (LossyUtf8(config.model().name()) != config.model().name()) {  // no client could parse Model.name
    return Refuse("model.name", absl::StrCat("\"", absl::CEscape(config.model().name()), "\""), "UTF-8");
  }
  return absl::OkStatus();
}

// What shm_open takes everywhere begins with a slash and has no other.
absl::Status ValidateNamePrefix(const v1::ServerConfig& config) {
  const std::string& prefix = config.shared_memory().name_prefix();
  const bool slash = prefix.rfind('/') == 0 && prefix.size() > 1;  // the last one is the first byte
  if (slash && prefix.size() <= kNamePrefixBytesMax && prefix.find('\0') == std::string::npos) return absl::OkStatus();
  return Refuse("shared_memory.name_prefix", absl::StrCat("\"", absl::CEscape(prefix), "\""),
                absl::StrCat("a slash and, without another one, at least one byte more, at most ", kNamePrefixBytesMax,
                             " bytes together"));
}

}  // namespace

void FillDefaults(v1::ServerConfig& config) {
  for (const NumberRule& rule : kNumberRules) FillNumber(config, rule);
  config.mutable_model();
  v1::Sharding& sharding = *config.mutable_sharding();
  if (sharding.placement() == v1::PLACEMENT_DEFAULT) sharding.set_placement(kDefaultPlacement);
  if (sharding.combine() == v1::COMBINE_MODE_DEFAULT) {
    sharding.set_combine(HasGpuRanks(sharding) ? kDefaultCombineOnGpus : kDefaultCombine);
  }
  // On CPU ranks the default is the engine's to choose: it depends on the number of ranks too.
  if (sharding.repeated_rows() == v1::REPEATED_ROWS_DEFAULT && HasGpuRanks(sharding)) {
    sharding.set_repeated_rows(v1::GATHER_EACH);
  }
  if (!config.listen().has_address()) config.mutable_listen()->set_address(kDefaultAddress);
  if (!config.logging().has_level()) config.mutable_logging()->set_level(kDefaultLevel);
  v1::SharedMemory& memory = *config.mutable_shared_memory();
  if (!memory.has_enabled()) memory.set_enabled(false);
  if (!memory.has_name_prefix()) memory.set_name_prefix(kDefaultNamePrefix);
}

absl::Status ValidateConfig(const v1::ServerConfig& config) {
  for (const auto check : {ValidateNumbers, ValidateGatherThreads, ValidatePairs, ValidateEnums, ValidateLayers,
                           ValidateRepeatedRows, ValidateTexts, ValidateNamePrefix}) {
    if (absl::Status status = check(config); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace engram
