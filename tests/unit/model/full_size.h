// The released model's geometry.

#ifndef ENGRAM_TESTS_UNIT_MODEL_FULL_SIZE_H_
#define ENGRAM_TESTS_UNIT_MODEL_FULL_SIZE_H_

#include "model/geometry.h"

namespace engram {

inline Geometry FullSize() {
  Geometry geometry;
  geometry.layer_ids = {1, 14};
  geometry.rows = {384006168, 384016682};
  geometry.max_ngram_size = 4;
  geometry.heads = 8;
  geometry.head_dim = 256;
  geometry.vocab_size = 129280;
  geometry.compressed_vocab_size = 99092;
  return geometry;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_MODEL_FULL_SIZE_H_
