#include "client/tool/lookup.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/client_session.h"
#include "client/tool/verify_run.h"

namespace engram {
namespace {

constexpr uint64_t kSessionId = 1;  // the client has no name, so its sessions are its own

// The plan's tokens with their look-back, by position.
struct Positions {
  std::vector<uint32_t> tokens;
  std::vector<uint8_t> mask;
  size_t before;  // look-back tokens

  explicit Positions(const LookupPlan& plan) : tokens(plan.lookback), mask(plan.lookback_mask), before(tokens.size()) {
    mask.resize(before, 1);
    tokens.insert(tokens.end(), plan.tokens.begin(), plan.tokens.end());
    mask.insert(mask.end(), plan.mask.begin(), plan.mask.end());
    mask.resize(tokens.size(), 1);
  }

  absl::Span<const uint32_t> TokensOf(size_t begin, size_t count) const {
    return absl::MakeConstSpan(tokens).subspan(begin, count);
  }
  absl::Span<const uint8_t> MaskOf(size_t begin, size_t count) const {
    return absl::MakeConstSpan(mask).subspan(begin, count);
  }
};

v1::StepRequest StepOf(const LookupPlan& plan, v1::RowFormat format) {
  v1::StepRequest step;
  step.mutable_layers()->Add(plan.layers.begin(), plan.layers.end());
  step.set_format(format);
  return step;
}

// Row ids of tokens [begin, begin + count), stateless: seeded with all that stands before and may matter.
v1::StepRequest HashStep(const LookupPlan& plan, const Positions& positions, size_t lookback_max, size_t begin,
                         size_t count) {
  v1::StepRequest step = StepOf(plan, v1::ROW_FORMAT_HASH_IDS);
  ClientSession stateless(0);
  const size_t end_of_before = positions.before + begin;
  const size_t lookback = std::min(lookback_max, end_of_before);
  if (end_of_before > 0) {
    stateless.Seed(plan.start_pos + begin, positions.TokensOf(end_of_before - lookback, lookback),
                   positions.MaskOf(end_of_before - lookback, lookback));
  } else {
    stateless.Seed(plan.start_pos, {});
  }
  stateless.Append(step, positions.TokensOf(end_of_before, count), positions.MaskOf(end_of_before, count));
  return step;
}

absl::StatusOr<StepResult> RunStep(Connection& connection, const v1::StepRequest& step) {
  absl::StatusOr<StepHandle> handle = connection.Submit(step);
  if (!handle.ok()) return handle.status();
  absl::StatusOr<StepResult> result = WaitPatiently(*handle);
  if (!result.ok()) return result.status();
  if (!result->status.ok()) return result->status;
  if (absl::Status status = result->segment_status(0); !status.ok()) return status;
  return result;
}

void AppendHashIds(const LayerRows& rows, LookedUpLayer& layer) {
  for (uint64_t token = 0; token < rows.tokens(); ++token) {
    for (uint32_t column = 0; column < rows.columns(); ++column) layer.hash_ids.push_back(rows.hash_id(token, column));
  }
}

}  // namespace

absl::StatusOr<std::vector<LookedUpLayer>> LookUp(Connection& connection, const LookupPlan& plan) {
  const size_t lookback_max = connection.geometry().max_ngram_size - 1;
  const Positions positions(plan);
  ClientSession session(kSessionId);
  if (plan.start_pos > 0) {
    session.Seed(plan.start_pos, plan.lookback, positions.MaskOf(0, positions.before));
  }
  std::vector<LookedUpLayer> layers;
  for (size_t begin = 0; begin < plan.tokens.size(); begin += plan.chunk_tokens) {
    const size_t count = std::min(plan.chunk_tokens, plan.tokens.size() - begin);
    absl::StatusOr<StepResult> ids = RunStep(connection, HashStep(plan, positions, lookback_max, begin, count));
    if (!ids.ok()) return ids.status();
    for (const LayerRows& rows : ids->layers) {
      if (begin == 0) layers.push_back({rows.layer(), {}, {}});
    }
    for (size_t i = 0; i < layers.size(); ++i) AppendHashIds(ids->layers[i], layers[i]);
    if (plan.format == v1::ROW_FORMAT_HASH_IDS) continue;

    v1::StepRequest step = StepOf(plan, plan.format);
    step.set_unique_rows(plan.unique_rows);
    const size_t at = positions.before + begin;
    session.Append(step, positions.TokensOf(at, count), positions.MaskOf(at, count));
    absl::StatusOr<StepResult> rows = RunStep(connection, step);
    if (!rows.ok()) return rows.status();
    for (size_t i = 0; i < layers.size(); ++i) {
      const absl::Span<const uint8_t> bytes = rows->layers[i].bytes();
      layers[i].rows.append(bytes.begin(), bytes.end());
    }
  }
  return layers;
}

}  // namespace engram
