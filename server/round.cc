#include "server/round.h"

#include <algorithm>
#include <memory>

#include "absl/types/span.h"
#include "server/frame_hash.h"

namespace engram {

void Round::Clear() {
  frames.clear();
  ids.clear();
  blocks.clear();
  begun = false;
  status = absl::OkStatus();
}

uint64_t Round::rows() const {
  uint64_t rows = 0;
  for (const RowBlock& block : blocks) rows += block.ids.size();
  return rows;
}

bool IsGathered(const PickedFrame& picked) {
  return picked.frame.rows > 0 && picked.step->step.format != v1::ROW_FORMAT_HASH_IDS;
}

namespace {

// Of the frame's ids, in place: those to gather.
absl::Span<const uint64_t> UniqueOf(absl::Span<uint64_t> ids, UniqueIds& unique, PickedFrame& picked) {
  unique.Build(ids);
  const size_t row_bytes = picked.payload.size() / ids.size();
  const size_t saved = (ids.size() - unique.unique().size()) * row_bytes;
  if (saved <= ids.size() * sizeof(uint32_t)) return ids;
  picked.payload.Cut(picked.payload.size() - saved);
  picked.row_index =
      std::make_unique<google::protobuf::RepeatedField<uint32_t>>(unique.index().begin(), unique.index().end());
  std::copy(unique.unique().begin(), unique.unique().end(), ids.begin());
  return ids.first(unique.unique().size());
}

RowForm FormOf(const Step& step) { return step.format == v1::ROW_FORMAT_BF16 ? RowForm::kBf16 : RowForm::kPacked; }

}  // namespace

void HashRound(const NgramHasher& hasher, Round& round) {
  size_t ids = 0;
  for (const PickedFrame& picked : round.frames) ids += IsGathered(picked) ? picked.frame.rows * hasher.columns() : 0;
  round.ids.resize(ids);
  round.blocks.assign(round.frames.size(), RowBlock{});
  absl::Span<uint64_t> rest = absl::MakeSpan(round.ids);
  for (size_t i = 0; i < round.frames.size(); ++i) {
    PickedFrame& picked = round.frames[i];
    const size_t count = picked.frame.rows * hasher.columns();
    if (count == 0) continue;
    absl::Span<uint64_t> out(reinterpret_cast<uint64_t*>(picked.payload.data()), count);
    if (IsGathered(picked)) {
      out = rest.first(count);
      rest.remove_prefix(count);
    }
    const Step& step = picked.step->step;
    HashFrame(hasher, step, picked.frame, out);
    if (!IsGathered(picked)) continue;
    const absl::Span<const uint64_t> wanted = step.unique_rows ? UniqueOf(out, round.unique, picked) : out;
    round.blocks[i] = RowBlock{picked.frame.layer_index, FormOf(step), wanted, picked.payload.data()};
  }
}

std::vector<RowBlock> BlocksOf(const QueuedStep& step, const Round& round) {
  std::vector<RowBlock> blocks;
  for (size_t i = 0; i < round.frames.size(); ++i) {
    if (round.frames[i].step == &step) blocks.push_back(round.blocks[i]);
  }
  return blocks;
}

}  // namespace engram
