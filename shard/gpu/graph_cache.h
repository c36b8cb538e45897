// Graphs captured once and launched often: one call for what would be several.

#ifndef ENGRAM_SHARD_GPU_GRAPH_CACHE_H_
#define ENGRAM_SHARD_GPU_GRAPH_CACHE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "shard/engine.h"
#include "shard/gpu/device_memory.h"

namespace engram {

// What a stream would have done. Addresses and counts are those of the capture. Movable, used by one thread.
class Graph {
 public:
  // What `enqueue` puts on `stream`, which does nothing of it now. Errors of enqueue and of api.h.
  static absl::StatusOr<Graph> Capture(const Stream& stream, absl::FunctionRef<absl::Status()> enqueue);

  Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  ~Graph();

  absl::Status Launch(const Stream& stream) const;

 private:
  explicit Graph(cudaGraphExec_t executable) : executable_(executable) {}

  cudaGraphExec_t executable_;
};

// Everything that a gather's addresses and counts follow from.
struct GraphKey {
  int slot = 0;
  RowForm form = RowForm::kPacked;
  uint64_t rows = 0;

  auto operator<=>(const GraphKey&) const = default;
};

// Of one stream. Whoever uses it sees to it that there are not many keys.
class GraphCache {
 public:
  // Launches the graph of `key`, captured from `enqueue` when it is the first.
  absl::Status Launch(const GraphKey& key, const Stream& stream, absl::FunctionRef<absl::Status()> enqueue);

 private:
  std::map<GraphKey, Graph> graphs_;
};

}  // namespace engram

#endif  // ENGRAM_SHARD_GPU_GRAPH_CACHE_H_
