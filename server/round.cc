#include "server/round.h"

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

bool IsGathered(const PickedFrame& picked) {
  return picked.frame.rows > 0 && picked.step->step.format != v1::ROW_FORMAT_HASH_IDS;
}

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
      const RowForm form = picked.step->step.format == v1::ROW_FORMAT_BF16 ? RowForm::kBf16 : RowForm::kPacked;
      round.blocks[i] = RowBlock{picked.frame.layer_index, form, out, picked.payload.data()};
    }
    HashFrame(hasher, picked.step->step, picked.frame, out);
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
