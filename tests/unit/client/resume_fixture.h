// Real servers that can be killed and started again on the same port, and a sequence that knows its row ids.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_RESUME_FIXTURE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_RESUME_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "client/tool/oracle.h"
#include "tests/unit/client/client_options.h"
#include "tests/unit/server/service_fixture.h"

namespace engram {

class KillableServer {
 public:
  explicit KillableServer(std::vector<std::string> overrides = {}) : overrides_(std::move(overrides)) {
    Start("127.0.0.1:0");
  }

  const std::string& address() const { return address_; }
  TestServer& server() { return *server_; }
  // Streams end at once, sessions are gone.
  void Kill() {
    server_->grpc().Shutdown(absl::ZeroDuration());
    server_.reset();
  }
  void Start() { Start(address_); }
  // Alive, but without an engine: admits steps and answers none.
  void StartStalled() {
    server_ = std::make_unique<TestServer>(overrides_, address_);
    server_->OpenGate();
  }
  // False unless so many are under way soon.
  bool AwaitSteps(int64_t steps) {
    const absl::Time give_up = absl::Now() + absl::Seconds(60);
    while (server_->gate().steps() < steps && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
    return server_->gate().steps() == steps;
  }

 private:
  void Start(const std::string& address) {
    server_ = std::make_unique<TestServer>(overrides_, address);
    address_ = absl::StrCat("127.0.0.1:", server_->grpc().port());
    server_->Serve();
  }

  const std::vector<std::string> overrides_;
  std::string address_;
  std::unique_ptr<TestServer> server_;
};

// The whole sequence, unsplit: what a session's rows must be. Row ids come from the formula in its plainest form.
class Sequence {
 public:
  explicit Sequence(const Checkpoint& checkpoint) : checkpoint_(&checkpoint) {}

  void Append(const std::vector<uint32_t>& tokens, const std::vector<uint8_t>& mask = {}) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool dead = !mask.empty() && mask[i] == 0;
      ids_.push_back(dead ? kDead : checkpoint_->constants.token_map[tokens[i]]);
    }
  }
  void RewindTo(uint64_t position) { ids_.resize(position); }
  uint64_t length() const { return ids_.size(); }
  // What a server would export of it.
  v1::HashState State() const {
    v1::HashState state;
    state.set_position(length());
    state.set_constants_digest(checkpoint_->constants_digest);
    const size_t lookback = std::min<size_t>(ids_.size(), checkpoint_->geometry.max_ngram_size - 1);
    state.mutable_compressed_ids()->Add(ids_.end() - static_cast<std::ptrdiff_t>(lookback), ids_.end());
    return state;
  }

  // [layers][tokens * K] of the positions from `begin` to the end.
  std::vector<std::vector<uint64_t>> RowIds(uint64_t begin) const {
    std::vector<std::vector<uint64_t>> layers;
    for (size_t layer = 0; layer < checkpoint_->geometry.layers(); ++layer) {
      std::vector<uint64_t>& ids = layers.emplace_back();
      for (uint64_t at = begin; at < ids_.size(); ++at) {
        for (uint64_t id : PlainRowIds(checkpoint_->geometry, checkpoint_->constants, layer, ids_, at, at)) {
          ids.push_back(id);
        }
      }
    }
    return layers;
  }

 private:
  const Checkpoint* checkpoint_;
  std::vector<int32_t> ids_;
};

// The row ids of the answer's tokens [begin, begin + tokens), in the order of the geometry's layers.
inline std::vector<std::vector<uint64_t>> RowIdsOf(const Geometry& geometry, const StepResult& result, uint64_t begin,
                                                   uint64_t tokens) {
  std::vector<std::vector<uint64_t>> layers;
  for (const uint32_t layer_id : geometry.layer_ids) {
    std::vector<uint64_t>& ids = layers.emplace_back();
    const LayerRows* rows = result.layer(layer_id);
    for (uint64_t token = begin; rows != nullptr && token < begin + tokens; ++token) {
      for (uint32_t column = 0; column < rows->columns(); ++column) ids.push_back(rows->hash_id(token, column));
    }
  }
  return layers;
}

inline TrackedStep HashStep() {
  TrackedStep step;
  step.request.set_format(v1::ROW_FORMAT_HASH_IDS);
  return step;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_RESUME_FIXTURE_H_
