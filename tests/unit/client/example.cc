#include <cstdio>
#include <utility>
#include <vector>

#include "client/client.h"
#include "client/dequantize.h"
#include "client/model_geometry.h"

// client_example HOST:PORT... - a prefill of three tokens, one decode step of two drafts, of which one is rejected.
int main(int argc, char** argv) {
  engram::ClientOptions options;
  options.addresses.assign(argv + 1, argv + argc);
  if (argc == 1) options.addresses = {"127.0.0.1:50061"};
  const auto client = engram::Client::Create(options);  // connects in the background, and again when it must
  if (!client.ok()) return std::fprintf(stderr, "%s\n", client.status().ToString().c_str()), 1;
  const auto model = (*client)->AwaitModel(absl::Seconds(10));
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().ToString().c_str()), 1;
  const engram::Geometry geometry = *engram::GeometryOf(*model);

  engram::TrackedSession session(7, {.lookback = geometry.max_ngram_size - 1});
  engram::TrackedStep prefill;
  prefill.request.set_format(engram::v1::ROW_FORMAT_PACKED);
  session.Append(prefill, {1, 2, 3});
  auto future = (*client)->Submit(std::move(prefill), {.timeout = absl::Seconds(5)});
  if (!future.ok()) return std::fprintf(stderr, "%s\n", future.status().ToString().c_str()), 1;

  const engram::StepResult result = future->Wait();  // more steps may be submitted before
  if (!result.status.ok() || !result.segment_status(0).ok()) return 1;
  for (const engram::LayerRows& layer : result.layers) {
    std::vector<uint16_t> bf16(layer.tokens() * layer.columns() * geometry.head_dim);
    if (!DequantizePacked(geometry, layer.bytes(), absl::MakeSpan(bf16)).ok()) return 1;
    std::printf("layer %u: %zu bytes of rows, %zu values\n", layer.layer(), layer.bytes().size(), bf16.size());
  }

  engram::TrackedStep drafts;
  session.Append(drafts, {4, 5});
  if (!(*client)->Run(std::move(drafts)).status.ok()) return 1;
  return session.RewindTo(4).ok() ? 0 : 1;  // the second draft was rejected: what comes next overwrites it
}
