// Rows of a frame to where they belong in the result.

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/pending_step.h"
#include "client/row_index.h"

namespace engram {

absl::Status PendingStep::CopyRows(size_t layer_index, uint64_t begin, uint64_t end, const FrameRows& rows) {
  LayerRows& layer = result_.layers[layer_index];
  const uint64_t expected = shape_.SentTokens(begin, end) * layer.token_bytes();
  if (rows.size != expected) {
    return Wrong(absl::StrCat(rows.size, " bytes of rows for tokens ", begin, "..", end, ", which have ", expected));
  }
  while (begin < end) {
    const bool sent = shape_.Sends(begin);
    uint64_t stop = begin + 1;
    while (stop < end && shape_.Sends(stop) == sent) ++stop;
    const uint64_t size = (stop - begin) * layer.token_bytes();
    if (!sent) layer.SetUnsent(begin, stop);
    if (sent && !rows.read(layer.mutable_token(begin), size)) return Wrong("a frame that ends within its rows");
    begin = stop;
  }
  return absl::OkStatus();
}

absl::Status PendingStep::CheckRowIndex(const v1::StepReply& frame, uint64_t rows_size) const {
  const uint64_t begin = frame.token_begin();
  const uint64_t expected = shape_.SentTokens(begin, begin + frame.token_count()) * shape_.columns;
  const auto& index = frame.row_index();
  if (static_cast<uint64_t>(index.size()) != expected) {
    return Wrong(absl::StrCat(index.size(), " values of row_index for ", expected, " rows"));
  }
  if (rows_size % shape_.row_bytes != 0) return Wrong(absl::StrCat(rows_size, " bytes of rows under a row_index"));
  const std::string fault = FaultOfRowIndex(index, rows_size / shape_.row_bytes);
  return fault.empty() ? absl::OkStatus() : Wrong(fault);
}

// Each row is read to where it first belongs, rows beside each other in one go, and copied on from there.
absl::Status PendingStep::CopyUnique(size_t layer_index, const v1::StepReply& frame, const FrameRows& rows) {
  LayerRows& layer = result_.layers[layer_index];
  const uint32_t row_bytes = layer.row_bytes();
  const uint32_t* next = frame.row_index().data();
  firsts_.clear();
  uint64_t unread = 0;  // rows just before `out`
  uint8_t* out = nullptr;
  const auto read = [&] {
    const uint64_t size = std::exchange(unread, 0) * row_bytes;
    return size == 0 || rows.read(out - size, size);
  };
  const uint64_t end = frame.token_begin() + frame.token_count();
  for (uint64_t token = frame.token_begin(); token < end; ++token) {
    if (!shape_.Sends(token)) {
      if (!read()) return Wrong("a frame that ends within its rows");
      layer.SetUnsent(token, token + 1);
      continue;
    }
    out = layer.mutable_token(token);
    for (uint32_t column = 0; column < layer.columns(); ++column, out += row_bytes) {
      const uint32_t row = *next++;
      if (row == firsts_.size()) {
        firsts_.push_back(out);
        ++unread;
        continue;
      }
      if (!read()) return Wrong("a frame that ends within its rows");
      std::memcpy(out, firsts_[row], row_bytes);
    }
  }
  return read() ? absl::OkStatus() : Wrong("a frame that ends within its rows");
}

absl::Status PendingStep::KeepUnique(size_t layer_index, const v1::StepReply& frame, const FrameRows& rows) {
  LayerRows& layer = result_.layers[layer_index];
  const uint64_t end = frame.token_begin() + frame.token_count();
  const uint64_t places = shape_.SentTokens(frame.token_begin(), end) * layer.columns();
  const bool all = frame.row_index_size() == 0;
  if (all && rows.size != places * layer.row_bytes()) {
    return Wrong(absl::StrCat(rows.size, " bytes of rows for ", places, " rows"));
  }
  const auto base = static_cast<uint32_t>(layer.unique_rows());
  if (!rows.read(layer.AddUnique(rows.size / layer.row_bytes()), rows.size)) {
    return Wrong("a frame that ends within its rows");
  }
  int next = 0;
  for (uint64_t token = frame.token_begin(); token < end; ++token) {
    if (!shape_.Sends(token)) continue;
    uint32_t* index = layer.mutable_index(token * layer.columns());
    for (uint32_t column = 0; column < layer.columns(); ++column, ++next) {
      index[column] = base + (all ? static_cast<uint32_t>(next) : frame.row_index(next));
    }
  }
  return absl::OkStatus();
}

absl::Status PendingStep::CopyHashIds(size_t layer_index, const v1::StepReply& frame) {
  const auto size = static_cast<uint64_t>(frame.hash_ids_size()) * sizeof(uint64_t);
  const auto* next = reinterpret_cast<const uint8_t*>(frame.hash_ids().data());
  const auto copy = [&next](uint8_t* out, uint64_t bytes) {
    std::memcpy(out, next, bytes);
    next += bytes;
    return true;
  };
  return CopyRows(layer_index, frame.token_begin(), frame.token_begin() + frame.token_count(), {size, copy});
}

}  // namespace engram
