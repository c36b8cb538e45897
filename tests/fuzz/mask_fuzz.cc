// Fuzzes token ids and masks: every relation of their lengths, ids out of range under mask 0 and 1, and the row ids
// that come of them, unsplit and in chunks with every kind of seed, against the definition.
//
// An input is: options, length of the mask if it is to differ, then per token one byte (6 bits id, 2 bits mask); the
// chunk sizes are read off the tokens themselves.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/frame_hash.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/mask_rules.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

constexpr uint64_t kLookback = 3;
constexpr StepRoom kRoom{
    .steps_free = 1, .steps_max = 1, .bytes_free = 1 << 24, .bytes_max = 1 << 24, .tokens_max = 1 << 12};

const TinyServer& Tiny() {
  static const TinyServer tiny;
  return tiny;
}

void Fill(const Tokens& tokens, google::protobuf::RepeatedField<uint32_t>& ids, std::string& mask) {
  ids.Add(tokens.ids.begin(), tokens.ids.end());
  mask = tokens.mask;
}

v1::Segment& AddSegment(v1::StepRequest& request, uint64_t session_id, uint64_t start_pos, const Tokens& tokens) {
  v1::Segment& segment = *request.add_segments();
  segment.set_session_id(session_id);
  segment.set_start_pos(start_pos);
  Fill(tokens, *segment.mutable_token_ids(), *segment.mutable_token_mask());
  return segment;
}

class MaskRun {
 public:
  MaskRun(Tokens tokens, bool omit_masked) : tokens_(std::move(tokens)), omit_masked_(omit_masked) {}

  void Go() {
    const bool allowed = Allowed(tokens_, compressed_);
    v1::StepRequest request = NewStep();
    AddSegment(request, 1, 0, tokens_);
    const Step step = Admit(request);
    const v1::SegmentResult& result = step.results.at(0);
    ENGRAM_REQUIRE((result.code() == 0) == allowed, absl::StrCat("the rules of masks: ", result.DebugString()));
    if (!allowed) return RequireRefused(step);
    RequireRows(step, 0, 0, compressed_.size());
    RequireOwed(step);
    for (size_t begin = 0; begin < compressed_.size();) begin = Chunk(begin);
  }

 private:
  v1::StepRequest NewStep() const {
    v1::StepRequest request;
    request.set_step_id(1);
    request.set_format(v1::ROW_FORMAT_HASH_IDS);
    request.set_omit_masked_rows(omit_masked_);
    request.set_return_states(true);
    return request;
  }

  Step Admit(const v1::StepRequest& request) {
    absl::StatusOr<Step> step = admission_.Admit({1, "a"}, request, kRoom, absl::UnixEpoch());
    ENGRAM_REQUIRE(step.ok(), step.status().ToString());
    return *std::move(step);
  }

  void RequireRefused(const Step& step) const {
    const v1::SegmentResult& result = step.results[0];
    const bool named = result.message().find("segments[0].token_") == 0;
    ENGRAM_REQUIRE(result.code() == static_cast<int>(absl::StatusCode::kInvalidArgument) && named,
                   result.DebugString());
    ENGRAM_REQUIRE(step.segments.empty() && step.reply_bytes == 0 && sessions_.sessions() == 0,
                   "a refused segment changes nothing and has no rows");
  }

  // The row ids of segment `index` of the step, which holds positions [begin, end) of the sequence.
  void RequireRows(const Step& step, size_t index, size_t begin, size_t end) const {
    if (begin == end) return;
    for (const size_t layer : step.layer_indices) {
      const RowIds defined = Defined(Tiny(), layer, compressed_, begin, end, omit_masked_);
      Frame frame;
      frame.layer_index = layer;
      frame.segment = index;
      frame.token_count = end - begin;
      RowIds rows(defined.size());
      HashFrame(hasher_, step, frame, absl::MakeSpan(rows));
      ENGRAM_REQUIRE(rows == defined, absl::StrCat("row ids of [", begin, ", ", end, ") of layer ", layer));
    }
  }

  void RequireOwed(const Step& step) const {
    const RowIds rows = Defined(Tiny(), 0, compressed_, 0, compressed_.size(), omit_masked_);
    ENGRAM_REQUIRE(step.reply_bytes == rows.size() * sizeof(uint64_t) * 2,
                   absl::StrCat("bytes owed: ", step.reply_bytes));
  }

  // The same tokens again: one chunk to session 2, and the same chunk stateless with each kind of seed.
  size_t Chunk(size_t begin) {
    const size_t end = std::min(compressed_.size(), begin + 1 + tokens_.ids[begin] % 7);
    const Tokens chunk = tokens_.Slice(begin, end);
    v1::StepRequest request = NewStep();
    AddSegment(request, 2, begin, chunk);
    const size_t held = std::min(begin, kLookback + end % 3);
    v1::Lookback& lookback = *AddSegment(request, 0, begin, chunk).mutable_lookback();
    Fill(tokens_.Slice(begin - held, begin), *lookback.mutable_token_ids(), *lookback.mutable_token_mask());
    v1::ForkFrom& fork = *AddSegment(request, 0, begin, chunk).mutable_fork_from();
    fork.set_session_id(1);
    fork.set_position(begin);
    if (begin > 0) *AddSegment(request, 0, begin, chunk).mutable_state() = state_;
    const Step step = Admit(request);
    ENGRAM_REQUIRE(step.segments.size() == static_cast<size_t>(request.segments_size()), "all seeds are taken");
    for (size_t i = 0; i < step.segments.size(); ++i) RequireRows(step, i, begin, end);
    state_ = step.results[0].state();
    return end;
  }

  const Tokens tokens_;
  const bool omit_masked_;
  Ids compressed_;
  v1::HashState state_;
  SessionStore sessions_{{.tokens_max = 1 << 12}, kLookback};
  const Admission admission_{Tiny().geometry, Tiny().constants, Tiny().model, sessions_};
  const NgramHasher hasher_{Tiny().geometry, Tiny().constants};
};

}  // namespace
}  // namespace engram

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  engram::FuzzInput input(data, size);
  const bool omit_masked = (input.Byte() & 1) != 0;
  engram::MaskRun(engram::ReadTokens(input), omit_masked).Go();
  return 0;
}
