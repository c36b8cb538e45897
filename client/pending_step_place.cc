// Rows that lie in shared memory.

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/pending_step.h"

namespace engram {

bool PendingStep::AllTokensSent() const {
  const auto accepted = [](const v1::SegmentResult& result) { return result.code() == 0; };
  return shape_.mask.empty() && result_.segments.size() == shape_.segments() &&
         std::all_of(result_.segments.begin(), result_.segments.end(), accepted);
}

absl::Status PendingStep::GiveMemory(LayerRows& layer) {
  if (layer.allocated()) return absl::OkStatus();
  if (place_ == nullptr || !AllTokensSent()) return layer.Allocate();
  const uint64_t bytes = layer.tokens() * layer.token_bytes();
  if (bytes > place_->bytes() - placed_) {
    return Wrong(absl::StrCat("layer ", layer.layer(), " begins ", placed_, " bytes into the step's place, where its ",
                              bytes, " bytes do not fit into ", place_->bytes()));
  }
  layer.Adopt(place_, placed_);
  return absl::OkStatus();
}

// What the server writes is not looked at, but where it says that it has written must be where it was told to.
absl::Status PendingStep::TakePlacedRows(const v1::StepReply& frame, const FrameRows& rows) {
  if (rows.size > 0 || frame.hash_ids_size() > 0) return Wrong("rows in the message, and not in their place");
  const uint64_t bytes = frame.place_bytes();
  if (bytes > 0 && (frame.place_offset() != place_->offset() + placed_ || bytes > place_->bytes() - placed_)) {
    return Wrong(absl::StrCat(bytes, " bytes placed at ", frame.place_offset(), ": the place has ",
                              place_->bytes() - placed_, " left at ", place_->offset() + placed_));
  }
  if (frame.token_count() == 0) return bytes == 0 ? absl::OkStatus() : Wrong("rows without tokens");
  size_t layer_index = 0;
  if (absl::Status status = BeginRows(frame, layer_index); !status.ok()) return status;

  const uint8_t* from = place_->data() + placed_;
  placed_ += bytes;
  result_.received_bytes += bytes;
  LayerRows& layer = result_.layers[layer_index];
  if (!layer.in_shared_memory()) {
    const auto copy = [&from](uint8_t* out, uint64_t size) {
      std::memcpy(out, from, size);
      from += size;
      return true;
    };
    return CopyRows(layer_index, frame.token_begin(), frame.token_begin() + frame.token_count(), {bytes, copy});
  }
  if (from != layer.mutable_token(frame.token_begin()) || bytes != frame.token_count() * layer.token_bytes()) {
    return Wrong(absl::StrCat(bytes, " bytes placed at ", frame.place_offset(), " for ", frame.token_count(),
                              " tokens of layer ", layer.layer(), " from ", frame.token_begin(),
                              ": they do not lie behind each other"));
  }
  return absl::OkStatus();
}

}  // namespace engram
