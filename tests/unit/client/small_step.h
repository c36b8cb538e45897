// What tests of PendingStep share: a small model, and rows fed to a step as a frame's.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_SMALL_STEP_H_
#define ENGRAM_TESTS_UNIT_CLIENT_SMALL_STEP_H_

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "client/pending_step.h"

namespace engram {

// K = 2 columns of 33 bytes: 66 bytes a token.
inline Geometry Small(std::vector<uint32_t> layer_ids = {14, 1}) {
  Geometry geometry;
  geometry.rows.assign(layer_ids.size(), 100);
  geometry.layer_ids = std::move(layer_ids);
  geometry.max_ngram_size = 3;
  geometry.heads = 1;
  geometry.head_dim = 32;
  geometry.vocab_size = 100;
  geometry.compressed_vocab_size = 100;
  return geometry;
}

// The frame with these bytes as its rows, all of which a step that takes it must have read.
inline absl::Status ApplyFrame(PendingStep& step, const v1::StepReply& frame, const std::string& rows) {
  size_t at = 0;
  const auto read = [&](uint8_t* out, uint64_t size) {
    if (size > rows.size() - at) return false;
    std::memcpy(out, rows.data() + at, size);
    at += size;
    return true;
  };
  absl::Status status = step.Apply(frame, {rows.size(), read});
  EXPECT_TRUE(!status.ok() || at == rows.size()) << at << " bytes of " << rows.size() << " were read";
  return status;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_SMALL_STEP_H_
