// A step on its way: puts frames together into a StepResult and wakes who waits for it.

#ifndef ENGRAM_CLIENT_PENDING_STEP_H_
#define ENGRAM_CLIENT_PENDING_STEP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/step_result.h"
#include "client/step_shape.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// The row bytes of one frame, still in the buffers they arrived in. `read` copies the next `size` of them; false when
// the buffers end before.
struct FrameRows {
  uint64_t size = 0;
  absl::FunctionRef<bool(uint8_t* out, uint64_t size)> read;
};

// One thread, the reader, calls Apply and Finish; any other waits. After Finish nothing changes any more.
class PendingStep {
 public:
  // With `done` the result goes there, on the thread that finishes the step, and Take has none. With `place` the rows
  // come there, which has exactly as many bytes as the step asks for.
  PendingStep(uint64_t step_id, StepShape shape, std::function<void(StepResult)> done = nullptr,
              std::shared_ptr<SegmentPlace> place = nullptr);

  uint64_t step_id() const { return result_.step_id; }

  // Takes one frame in; `frame.rows` is empty and `rows` stands for it. The last frame finishes the step. Rows in
  // shared memory stay there, unless some of the step's tokens have none: then the others are copied out.
  // INTERNAL when the frame does not fit the request, RESOURCE_EXHAUSTED without memory: the stream cannot go on.
  absl::Status Apply(const v1::StepReply& frame, const FrameRows& rows);

  // Ends the step from outside, when its connection ended.
  void Finish(absl::Status status);

  bool WaitFor(absl::Duration timeout) const { return finished_.WaitForNotificationWithTimeout(timeout); }
  StepResult Take();

 private:
  absl::Status TakeResults(const v1::StepReply& frame);
  absl::Status TakeRows(const v1::StepReply& frame, const FrameRows& rows);
  absl::Status TakePlacedRows(const v1::StepReply& frame, const FrameRows& rows);
  // Sets `layer_index`, gives the layer memory with its first frame and passes over the tokens before this one.
  absl::Status BeginRows(const v1::StepReply& frame, size_t& layer_index);
  absl::Status GiveMemory(LayerRows& layer);
  bool AllTokensSent() const;
  absl::Status CheckRange(const v1::StepReply& frame) const;
  // Passes over tokens up to `token`, which must all belong to refused segments.
  absl::Status SkipTo(size_t layer_index, uint64_t token);
  // INTERNAL unless the segments of [begin, end) are all known and all accepted (or all refused).
  absl::Status CheckSegments(uint64_t begin, uint64_t end, bool accepted) const;
  absl::Status CopyRows(size_t layer_index, uint64_t begin, uint64_t end, const FrameRows& rows);
  // INTERNAL unless row_index and the rows under it fit the frame's tokens and each other.
  absl::Status CheckRowIndex(const v1::StepReply& frame, uint64_t rows_size) const;
  absl::Status CopyUnique(size_t layer_index, const v1::StepReply& frame, const FrameRows& rows);
  absl::Status KeepUnique(size_t layer_index, const v1::StepReply& frame, const FrameRows& rows);
  absl::Status CopyHashIds(size_t layer_index, const v1::StepReply& frame);
  absl::Status CheckComplete();
  absl::Status Wrong(const std::string& what) const;

  const StepShape shape_;
  std::vector<uint64_t> next_tokens_;   // [layers]: tokens before it are settled
  std::vector<const uint8_t*> firsts_;  // of a frame's unique rows: where each first belongs
  const std::function<void(StepResult)> done_;
  std::shared_ptr<SegmentPlace> place_;  // null: rows come in the frames
  uint64_t placed_ = 0;                  // bytes of it that frames have told of
  StepResult result_;
  absl::Notification finished_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_PENDING_STEP_H_
