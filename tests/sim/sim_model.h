// The model that the simulator serves: the tiny geometry over tables whose bytes prove themselves.

#ifndef ENGRAM_TESTS_SIM_SIM_MODEL_H_
#define ENGRAM_TESTS_SIM_SIM_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engram/v1/engram.pb.h"
#include "model/files/checkpoint.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {

// Small bounds, so that random traffic meets every one of them.
struct SimModel {
  SimModel();

  const Geometry& geometry() const { return checkpoint.geometry; }
  // The bytes that a reply must hold for one row: synthetic content by layer and row, or the row's id.
  std::string RowBytes(size_t layer_index, uint64_t row, v1::RowFormat format) const;

  static constexpr uint64_t kSessionTokensMax = 600;

  TempFolder folder;
  Checkpoint checkpoint;
  v1::Model model;

 private:
  std::vector<std::vector<std::string>> packed_;  // [layers, rows]
  std::vector<std::vector<std::string>> bf16_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_SIM_MODEL_H_
