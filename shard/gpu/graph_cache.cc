#include "shard/gpu/graph_cache.h"

namespace engram {

absl::StatusOr<Graph> Graph::Capture(const Stream& stream, absl::FunctionRef<absl::Status()> enqueue) {
  // Relaxed: neither other threads of the process nor a kernel that is loaded at its first launch may spoil it.
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed));
  const absl::Status enqueued = enqueue();
  cudaGraph_t captured = nullptr;
  const absl::Status ended = CudaStatus(cudaStreamEndCapture(stream.get(), &captured), "cudaStreamEndCapture");
  absl::Status status = enqueued.ok() ? ended : enqueued;
  cudaGraphExec_t executable = nullptr;
  if (status.ok()) status = CudaStatus(cudaGraphInstantiate(&executable, captured, 0), "cudaGraphInstantiate");
  if (captured != nullptr) DropCudaError(cudaGraphDestroy(captured));
  if (!status.ok()) return status;
  return Graph(executable);
}

Graph::~Graph() {
  if (executable_ != nullptr) DropCudaError(cudaGraphExecDestroy(executable_));
}

absl::Status Graph::Launch(const Stream& stream) const {
  ENGRAM_RETURN_IF_CUDA_ERROR(cudaGraphLaunch(executable_, stream.get()));
  return absl::OkStatus();
}

absl::Status GraphCache::Launch(const GraphKey& key, const Stream& stream, absl::FunctionRef<absl::Status()> enqueue) {
  auto found = graphs_.find(key);
  if (found == graphs_.end()) {
    ENGRAM_ASSIGN_OR_RETURN(Graph graph, Graph::Capture(stream, enqueue));
    found = graphs_.emplace(key, std::move(graph)).first;
  }
  return found->second.Launch(stream);
}

}  // namespace engram
