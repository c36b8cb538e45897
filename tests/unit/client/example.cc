#include <cstdio>
#include <vector>

#include "client/client.h"
#include "client/client_session.h"
#include "client/dequantize.h"

// client_example HOST:PORT - a prefill of three tokens, one decode step of two drafts, of which one is rejected.
int main(int argc, char** argv) {
  engram::ClientOptions options;
  options.address = argc > 1 ? argv[1] : "127.0.0.1:50061";
  options.client_id = "replica-0";
  const auto client = engram::Client::Connect(options);
  if (!client.ok()) return std::fprintf(stderr, "%s\n", client.status().ToString().c_str()), 1;

  engram::ClientSession session(7);
  engram::v1::StepRequest prefill;
  prefill.set_format(engram::v1::ROW_FORMAT_PACKED);
  session.Append(prefill, {1, 2, 3});
  auto handle = (*client)->Submit(prefill);  // more steps may follow before its answer
  if (!handle.ok()) return std::fprintf(stderr, "%s\n", handle.status().ToString().c_str()), 1;

  const engram::StepResult result = handle->Wait();
  if (!result.status.ok() || !result.segment_status(0).ok()) return 1;
  for (const engram::LayerRows& layer : result.layers) {
    std::vector<uint16_t> bf16(layer.tokens() * layer.columns() * (*client)->geometry().head_dim);
    if (!DequantizePacked((*client)->geometry(), layer.bytes(), absl::MakeSpan(bf16)).ok()) return 1;
    std::printf("layer %u: %zu bytes of rows, %zu values\n", layer.layer(), layer.bytes().size(), bf16.size());
  }

  engram::v1::StepRequest drafts;
  session.Append(drafts, {4, 5});
  if (!(*client)->Run(drafts).status.ok()) return 1;
  session.RewindTo(4);  // the second draft was rejected: what comes next overwrites it
  return 0;
}
