#include "client/step_shape.h"

#include <algorithm>

namespace engram {
namespace {

std::vector<uint32_t> LayersOf(const v1::StepRequest& request, const Geometry& geometry) {
  std::vector<uint32_t> layers(request.layers().begin(), request.layers().end());
  if (layers.empty()) layers = geometry.layer_ids;
  std::sort(layers.begin(), layers.end());
  return layers;
}

// A mask of the wrong length is refused with its segment, so what stands here for it is never looked at.
void AppendMask(const v1::Segment& segment, std::string& mask) {
  const size_t end = mask.size() + static_cast<size_t>(segment.token_ids_size());
  mask += segment.token_mask().substr(0, end - mask.size());
  mask.resize(end, 1);
}

}  // namespace

uint32_t RowBytesOf(v1::RowFormat format, const Geometry& geometry) {
  if (format == v1::ROW_FORMAT_HASH_IDS) return sizeof(uint64_t);
  return format == v1::ROW_FORMAT_BF16 ? geometry.bf16_row_bytes() : geometry.packed_row_bytes();
}

uint64_t StepShape::SentTokens(uint64_t begin, uint64_t end) const {
  if (mask.empty()) return end - begin;
  const auto first = mask.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = mask.begin() + static_cast<std::ptrdiff_t>(end);
  return (end - begin) - static_cast<uint64_t>(std::count(first, last, 0));
}

StepShape ShapeOf(const v1::StepRequest& request, const Geometry& geometry) {
  StepShape shape;
  shape.layers = LayersOf(request, geometry);
  shape.columns = geometry.columns();
  shape.row_bytes = RowBytesOf(request.format(), geometry);
  shape.hash_ids = request.format() == v1::ROW_FORMAT_HASH_IDS;
  shape.unique_rows = request.unique_rows();
  shape.segment_begins.push_back(0);
  for (const v1::Segment& segment : request.segments()) {
    shape.segment_begins.push_back(shape.tokens() + static_cast<uint64_t>(segment.token_ids_size()));
    if (request.omit_masked_rows()) AppendMask(segment, shape.mask);
  }
  return shape;
}

}  // namespace engram
