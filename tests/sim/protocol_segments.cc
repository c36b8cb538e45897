// One segment in the protocol model: which history it continues, and when it is refused.

#include <algorithm>

#include "tests/sim/protocol_model.h"

namespace engram {
namespace {

using Code = absl::StatusCode;

constexpr int32_t kDeadId = -1;
constexpr size_t kClientBytesMax = 256;

}  // namespace

absl::StatusCode ProtocolModel::Apply(const std::string& client, uint64_t stream, const v1::Segment& segment,
                                      ModelSession& written) const {
  const auto tokens = static_cast<uint64_t>(segment.token_ids_size());
  if (segment.start_pos() + tokens < tokens) return Code::kInvalidArgument;  // past 2^64
  std::vector<int32_t> ids;
  if (!Compress(segment.token_ids(), segment.token_mask(), ids)) return Code::kInvalidArgument;
  ModelSession seed;
  const Code seeded = SeedFrom(client, segment, seed);
  const bool unknown_source = segment.has_fork_from() && seeded == Code::kFailedPrecondition;
  if (seeded != Code::kOk && !unknown_source) return seeded;  // known before the sessions are looked at
  if (segment.session_id() != 0) {
    const ModelSession* target = Find(client, segment.session_id());
    if (target != nullptr && target->steps > 0 && target->stream != stream) return Code::kAborted;
    if (segment.start_pos() + tokens > SimModel::kSessionTokensMax) return Code::kResourceExhausted;
  }
  if (seeded != Code::kOk) return seeded;
  written = seed;
  if (const Code cut = CutAt(segment.start_pos(), written); cut != Code::kOk) return cut;
  written.ids.insert(written.ids.end(), ids.begin(), ids.end());
  return Code::kOk;
}

// The history that the segment continues, not yet cut at start_pos.
absl::StatusCode ProtocolModel::SeedFrom(const std::string& client, const v1::Segment& segment,
                                         ModelSession& written) const {
  const uint64_t start = segment.start_pos();
  const uint64_t needed = std::min(start, lookback_max());
  if (segment.has_lookback()) {
    const auto given = static_cast<uint64_t>(segment.lookback().token_ids_size());
    if (given < needed || given > start) return Code::kInvalidArgument;
    if (!Compress(segment.lookback().token_ids(), segment.lookback().token_mask(), written.ids)) {
      return Code::kInvalidArgument;
    }
    written.base = start - given;
  } else if (segment.has_state()) {
    const v1::HashState& state = segment.state();
    if (state.position() != start) return Code::kInvalidArgument;
    if (state.constants_digest() != sim_.model.constants_digest()) return Code::kFailedPrecondition;
    if (static_cast<uint64_t>(state.compressed_ids_size()) != needed) return Code::kInvalidArgument;
    for (const int32_t id : state.compressed_ids()) {
      if (id < kDeadId || id >= static_cast<int32_t>(sim_.geometry().compressed_vocab_size)) {
        return Code::kInvalidArgument;
      }
      written.ids.push_back(id);
    }
    written.base = start - needed;
  } else if (segment.has_fork_from()) {
    const v1::ForkFrom& fork = segment.fork_from();
    if (fork.session_id() == 0 || fork.position() != start) return Code::kInvalidArgument;
    if (fork.client_id().size() > kClientBytesMax) return Code::kInvalidArgument;
    const ModelSession* source = Find(fork.client_id().empty() ? client : fork.client_id(), fork.session_id());
    if (source == nullptr) return Code::kFailedPrecondition;
    written = *source;
  } else if (const ModelSession* target = Find(client, segment.session_id()); target != nullptr) {
    written = *target;
  }
  return Code::kOk;
}

absl::StatusCode ProtocolModel::CutAt(uint64_t start_pos, ModelSession& written) const {
  if (start_pos > written.length()) return Code::kFailedPrecondition;
  if (start_pos == 0) written = ModelSession();
  if (start_pos - std::min(start_pos, lookback_max()) < written.base) return Code::kFailedPrecondition;
  written.ids.resize(start_pos - written.base);
  return Code::kOk;
}

bool ProtocolModel::Compress(const google::protobuf::RepeatedField<uint32_t>& tokens, const std::string& mask,
                             std::vector<int32_t>& ids) const {
  if (!mask.empty() && mask.size() != static_cast<size_t>(tokens.size())) return false;
  for (const char m : mask) {
    if (m != 0 && m != 1) return false;
  }
  const std::vector<int32_t>& token_map = sim_.checkpoint.constants.token_map;
  for (int i = 0; i < tokens.size(); ++i) {
    const bool dead = !mask.empty() && mask[static_cast<size_t>(i)] == 0;
    if (!dead && tokens[i] >= token_map.size()) return false;
    ids.push_back(dead ? kDeadId : token_map[tokens[i]]);
  }
  return true;
}

}  // namespace engram
