// Cuts a step into the frames of its answer.

#ifndef ENGRAM_SERVER_FRAME_PLAN_H_
#define ENGRAM_SERVER_FRAME_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "model/geometry.h"
#include "server/step.h"

namespace engram {

// Bytes of a serialised ServerMessage around the rows and results of a frame: tags, lengths and the numbers of
// StepReply.
inline constexpr uint64_t kFrameFieldsBytes = 256;
// A step's own message is cut to so many bytes.
inline constexpr size_t kFrameMessageBytesMax = 1024;

struct FrameLimits {
  uint64_t frame_bytes_max = 0;  // of a serialised ServerMessage; at least 16 KiB
  uint64_t round_bytes_max = 0;  // a frame must fit into one round
};

// Bytes that one token takes in a frame: K rows, or K hash ids of 8 bytes.
uint64_t TokenBytes(const Geometry& geometry, v1::RowFormat format);

// Rows of a placed step are in no message: half a round of them makes a frame, so that a step has few frames and each
// still finds room beside decode steps; or what any other frame may have, where that is more.
uint64_t PayloadBytesMax(const Step& step, FrameLimits limits);

// One frame: the unit of scheduling. Consecutive tokens of the request, of one or several adjacent segments, of one
// layer.
struct Frame {
  size_t layer_index = 0;    // into Geometry.layer_ids; without meaning when token_count is 0
  size_t segment = 0;        // of Step.segments: where the tokens begin
  uint64_t offset = 0;       // the first token within that segment
  uint64_t token_begin = 0;  // counted over all tokens of the request
  uint64_t token_count = 0;
  uint64_t rows = 0;           // tokens with rows: token_count, less masked ones under omit_masked_rows
  uint64_t payload_bytes = 0;  // rows * TokenBytes
  size_t results_begin = 0;    // of Step.results: [begin, end)
  size_t results_end = 0;
  bool last = false;

  bool has_results() const { return results_end > results_begin; }
};

// Walks the frames of one step in order: segment results first (in the first frame of rows when they are small, else in
// frames of their own), then layer by layer the tokens. Frames hold whole tokens and never the tokens of a refused
// segment. A step without rows is one last frame, or as many as its results need. Not thread-safe.
class FramePlan {
 public:
  // `step` and `geometry` must outlive the plan and stay as they are. One token must fit into `limits`
  // (ValidateForModel).
  FramePlan(const Step& step, const Geometry& geometry, FrameLimits limits);

  // The next frame, or null after the last one.
  const Frame* Peek() const { return done_ ? nullptr : &next_; }
  void Pop();

  // The step ends early: only results not yet taken and a last frame remain, that one without rows. Not after the last
  // frame was popped.
  void DropRows();

 private:
  void Compute();
  void TakeResults();
  void TakeTokens(uint64_t room_bytes);
  void AdvancePast(const Frame& frame);
  uint64_t TakeFromSegment(const StepSegment& segment, uint64_t offset, uint64_t rows_max);
  bool rows_remain() const { return layer_ < layers_; }
  uint64_t ResultsBytes(size_t begin, uint64_t bytes_max, size_t& end) const;

  const Step& step_;
  uint64_t token_bytes_;
  uint64_t payload_bytes_max_;
  uint64_t frame_bytes_max_;
  size_t layers_;         // number of layers to walk; 0 when the step has no tokens
  bool message_follows_;  // Step.close_status needs a frame: next to rows there may be no room for it
  size_t layer_ = 0;      // index into Step.layer_indices
  size_t segment_ = 0;    // where the next frame begins
  uint64_t offset_ = 0;
  size_t results_next_ = 0;
  Frame next_;
  bool done_ = false;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_FRAME_PLAN_H_
