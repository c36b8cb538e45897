// A model small enough to check by hand.

#ifndef ENGRAM_TESTS_UNIT_MODEL_SMALL_CONSTANTS_H_
#define ENGRAM_TESTS_UNIT_MODEL_SMALL_CONSTANTS_H_

#include "model/geometry.h"
#include "model/hash_constants.h"

namespace engram {

// Two layers of two columns, five tokens in three classes.
struct SmallConstants {
  Geometry geometry;
  HashConstants constants;

  SmallConstants() {
    geometry.layer_ids = {1, 4};
    geometry.rows = {12, 24};
    geometry.max_ngram_size = 2;
    geometry.heads = 2;
    geometry.head_dim = 32;
    geometry.vocab_size = 5;
    geometry.compressed_vocab_size = 3;
    constants.token_map = {0, 1, 1, 2, 0};
    constants.pad_id = 1;
    constants.multipliers = {3, 5, 7, 9};
    constants.primes = {5, 7, 11, 13};
    constants.offsets = {0, 5, 0, 11};
  }
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_MODEL_SMALL_CONSTANTS_H_
