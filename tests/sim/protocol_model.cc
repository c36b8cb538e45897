#include "tests/sim/protocol_model.h"

#include <algorithm>
#include <set>

namespace engram {
namespace {

using Code = absl::StatusCode;

constexpr int32_t kDeadId = -1;

bool HasRow(const v1::StepRequest& request, const v1::Segment& segment, int token) {
  return !request.omit_masked_rows() || segment.token_mask().empty() || segment.token_mask()[token] != 0;
}

}  // namespace

ModelAnswer ProtocolModel::Admit(const std::string& client, uint64_t stream, const v1::StepRequest& request,
                                 const ModelRoom& room) {
  ModelAnswer answer;
  answer.code = CheckStep(request, room);
  if (answer.code != Code::kOk) return answer;
  answer.admitted = true;
  std::set<uint64_t> seen;
  std::vector<size_t> accepted;
  std::vector<ModelSession> histories;
  for (int i = 0; i < request.segments_size(); ++i) {
    const v1::Segment& segment = request.segments(i);
    const uint64_t id = segment.session_id();
    ModelSession written;
    Code code = Code::kInvalidArgument;
    if (id == 0 || seen.insert(id).second) code = Apply(client, stream, segment, written);
    answer.segments.push_back({code, 0, {}});
    if (code != Code::kOk) continue;
    answer.segments.back().length = written.length();
    answer.segments.back().state = LastIds(written);
    accepted.push_back(static_cast<size_t>(i));
    histories.push_back(written);
    if (id == 0) continue;
    std::shared_ptr<ModelSession>& session = sessions_[{client, id}];
    if (session == nullptr) session = std::make_shared<ModelSession>();
    written.steps = session->steps + 1;
    written.stream = stream;
    *session = written;
    answer.sessions.push_back(session);
  }
  answer.owed_bytes = OwedBytes(request, accepted);
  AddTokens(request, accepted, histories, answer);
  for (const uint64_t id : request.close_sessions()) {
    const ModelSession* session = Find(client, id);
    if (session == nullptr) continue;
    if (session->steps > 0 && session->stream != stream) {
      answer.code = Code::kAborted;
    } else {
      sessions_.erase({client, id});
    }
  }
  return answer;
}

void ProtocolModel::End(ModelAnswer& answer) {
  for (const auto& session : answer.sessions) --session->steps;
  answer.sessions.clear();
}

void ProtocolModel::Forget(const std::string& client) {
  std::erase_if(sessions_, [&](const auto& entry) { return entry.first.first == client; });
}

const ModelSession* ProtocolModel::Find(const std::string& client, uint64_t session_id) const {
  const auto found = sessions_.find({client, session_id});
  return found == sessions_.end() ? nullptr : found->second.get();
}

absl::StatusCode ProtocolModel::CheckStep(const v1::StepRequest& request, const ModelRoom& room) const {
  const v1::Limits& limits = sim_.model.limits();
  const int segments_max = static_cast<int>(limits.segments_max());
  if (request.segments_size() > segments_max) return Code::kResourceExhausted;
  if (request.close_sessions_size() > segments_max) return Code::kResourceExhausted;
  uint64_t tokens = 0;
  for (const v1::Segment& segment : request.segments()) {
    const auto lookback = static_cast<uint64_t>(segment.lookback().token_ids_size());
    tokens +=
        static_cast<uint64_t>(segment.token_ids_size()) + (lookback > lookback_max() ? lookback - lookback_max() : 0);
  }
  if (tokens > limits.step_tokens_max()) return Code::kResourceExhausted;
  for (const uint64_t id : request.close_sessions()) {
    if (id == 0) return Code::kInvalidArgument;
  }
  std::set<uint32_t> layers;
  for (const uint32_t layer : request.layers()) {
    if (sim_.geometry().LayerIndex(layer) < 0 || !layers.insert(layer).second) return Code::kInvalidArgument;
  }
  if (!v1::RowFormat_IsValid(request.format())) return Code::kInvalidArgument;
  if (request.table_version() != 0 && request.table_version() != sim_.model.table_version()) {
    return Code::kFailedPrecondition;
  }
  if (!room.step) return Code::kResourceExhausted;
  std::vector<size_t> all;
  for (int i = 0; i < request.segments_size(); ++i) all.push_back(static_cast<size_t>(i));
  return OwedBytes(request, all) > room.bytes_free ? Code::kResourceExhausted : Code::kOk;
}

// A mask of the wrong length leaves nothing out: its segment is refused later on.
uint64_t ProtocolModel::OwedBytes(const v1::StepRequest& request, const std::vector<size_t>& segments) const {
  const uint64_t row_bytes = sim_.RowBytes(0, 0, request.format()).size();
  uint64_t tokens = 0;
  for (const size_t i : segments) {
    const v1::Segment& segment = request.segments(static_cast<int>(i));
    const bool fits = segment.token_mask().size() == static_cast<size_t>(segment.token_ids_size());
    for (int t = 0; t < segment.token_ids_size(); ++t) tokens += !fits || HasRow(request, segment, t) ? 1 : 0;
  }
  return tokens * row_bytes * sim_.geometry().columns() * LayersOf(request).size();
}

void ProtocolModel::AddTokens(const v1::StepRequest& request, const std::vector<size_t>& segments,
                              const std::vector<ModelSession>& written, ModelAnswer& answer) const {
  for (const size_t layer : LayersOf(request)) {
    for (size_t a = 0; a < segments.size(); ++a) {
      const auto index = static_cast<int>(segments[a]);
      uint64_t before = 0;  // tokens of the request before this segment
      for (int i = 0; i < index; ++i) before += static_cast<uint64_t>(request.segments(i).token_ids_size());
      const v1::Segment& segment = request.segments(index);
      for (int t = 0; t < segment.token_ids_size(); ++t) {
        const auto at = static_cast<uint64_t>(t);
        ModelToken token{layer, before + at, {}};
        if (HasRow(request, segment, t)) token.row_ids = RowIds(layer, written[a], segment.start_pos() + at);
        answer.tokens.push_back(std::move(token));
      }
    }
  }
}

// Ascending by decoder layer id.
std::vector<size_t> ProtocolModel::LayersOf(const v1::StepRequest& request) const {
  const std::vector<uint32_t>& all = sim_.geometry().layer_ids;
  std::map<uint32_t, size_t> chosen;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool asked = std::count(request.layers().begin(), request.layers().end(), all[i]) > 0;
    if (request.layers().empty() || asked) chosen[all[i]] = i;
  }
  std::vector<size_t> indices;
  for (const auto& [id, index] : chosen) indices.push_back(index);
  return indices;
}

std::vector<int32_t> ProtocolModel::LastIds(const ModelSession& session) const {
  const size_t count = std::min<uint64_t>(session.length(), lookback_max());
  return std::vector<int32_t>(session.ids.end() - static_cast<ptrdiff_t>(count), session.ids.end());
}

std::vector<uint64_t> ProtocolModel::RowIds(size_t layer_index, const ModelSession& history, uint64_t position) const {
  const Geometry& geometry = sim_.geometry();
  const HashConstants& constants = sim_.checkpoint.constants;
  std::vector<uint64_t> row_ids;
  uint64_t r = 0;
  bool padded = false;
  for (uint64_t shift = 0; shift < geometry.max_ngram_size; ++shift) {
    int32_t id = kDeadId;
    if (!padded && shift <= position) id = history.ids[position - shift - history.base];
    padded = padded || id == kDeadId;
    if (padded) id = constants.pad_id;
    const int64_t multiplier = constants.multipliers[layer_index * geometry.max_ngram_size + shift];
    r ^= static_cast<uint64_t>(id) * static_cast<uint64_t>(multiplier);
    for (uint64_t head = 0; shift > 0 && head < geometry.heads; ++head) {
      const size_t column = layer_index * geometry.columns() + (shift - 1) * geometry.heads + head;
      const auto prime = static_cast<uint64_t>(constants.primes[column]);
      row_ids.push_back(r % prime + static_cast<uint64_t>(constants.offsets[column]));
    }
  }
  return row_ids;
}

}  // namespace engram
