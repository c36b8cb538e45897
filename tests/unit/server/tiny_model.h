// A model small enough to read by eye, and an Admission in front of it.

#ifndef ENGRAM_TESTS_UNIT_SERVER_TINY_MODEL_H_
#define ENGRAM_TESTS_UNIT_SERVER_TINY_MODEL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "google/protobuf/text_format.h"
#include "model/geometry.h"
#include "model/hash_constants.h"
#include "server/admission.h"

namespace engram {

// V = 40 tokens fold to C = 20 ids: token t is t % 20. K = 6 columns, 33 bytes a packed row, 64 as bf16.
inline Geometry TinyGeometry() {
  Geometry geometry;
  geometry.layer_ids = {14, 1};  // not in order on purpose
  geometry.max_ngram_size = 4;
  geometry.heads = 2;
  geometry.head_dim = 32;
  geometry.vocab_size = 40;
  geometry.compressed_vocab_size = 20;
  geometry.rows = {0, 0};
  return geometry;
}

inline HashConstants TinyConstants(Geometry& geometry) {
  HashConstants constants;
  for (int32_t token = 0; token < 40; ++token) constants.token_map.push_back(token % 20);
  constants.pad_id = 2;
  constants.multipliers = DeriveMultipliers(geometry);
  constants.primes = DerivePrimes(geometry, 100);
  constants.offsets = OffsetsOf(geometry, constants.primes);
  const auto layer = static_cast<ptrdiff_t>(geometry.columns());
  for (size_t i = 0; i < geometry.layers(); ++i) {
    const auto begin = constants.primes.begin() + static_cast<ptrdiff_t>(i) * layer;
    geometry.rows[i] = static_cast<uint64_t>(std::accumulate(begin, begin + layer, int64_t{0}));
  }
  return constants;
}

inline v1::Model TinyModel() {
  v1::Model model;
  model.set_name("tiny");
  model.set_constants_digest(std::string(32, 'c'));
  model.set_model_digest(std::string(32, 'm'));
  model.set_table_version(3);
  model.set_combine("OWNER_GATHER");
  for (const auto format : {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}) {
    model.add_formats(format);
  }
  model.mutable_limits()->set_segments_max(5);
  return model;
}

struct TinyServer {
  TinyServer() : TinyServer(TinyModel()) {}
  explicit TinyServer(const v1::Model& announced)
      : constants(TinyConstants(geometry)),
        model(announced),
        sessions({.tokens_max = 1000}, 3),
        admission(geometry, constants, model, sessions) {}

  static StepRoom Room() {
    return {.steps_free = 1, .steps_max = 8, .bytes_free = 1 << 20, .bytes_max = 1 << 21, .tokens_max = 50};
  }

  absl::StatusOr<Step> Admit(const v1::StepRequest& request, const StepOrigin& origin = {1, "a"},
                             const StepRoom& room = Room()) {
    return admission.Admit(origin, request, room, absl::UnixEpoch());
  }

  Geometry geometry = TinyGeometry();
  HashConstants constants;
  v1::Model model;
  SessionStore sessions;
  Admission admission;
};

inline v1::StepRequest Request(const std::string& text) {
  v1::StepRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  return request;
}

// A step that must be admitted, with all its segments.
inline Step Good(absl::StatusOr<Step> step) {
  EXPECT_TRUE(step.ok()) << step.status();
  if (!step.ok()) return {};
  for (const v1::SegmentResult& result : step->results) EXPECT_EQ(result.code(), 0) << result.message();
  return *std::move(step);
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_TINY_MODEL_H_
