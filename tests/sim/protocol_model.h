// What a server must answer, step by step: a sequential reference of sessions and steps, too simple to be wrong.

#ifndef ENGRAM_TESTS_SIM_PROTOCOL_MODEL_H_
#define ENGRAM_TESTS_SIM_PROTOCOL_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engram/v1/engram.pb.h"
#include "tests/sim/sim_model.h"

namespace engram {

// The whole history of a sequence: compressed ids of positions base, base + 1, ...; -1 is a masked one.
struct ModelSession {
  uint64_t base = 0;
  std::vector<int32_t> ids;
  int steps = 0;        // under way
  uint64_t stream = 0;  // theirs

  uint64_t length() const { return base + ids.size(); }
};

struct ModelSegment {
  absl::StatusCode code = absl::StatusCode::kOk;
  uint64_t length = 0;
  std::vector<int32_t> state;  // ids of the last min(length, G-1) positions
};

// One token of one layer in the answer.
struct ModelToken {
  size_t layer_index = 0;
  uint64_t token = 0;             // counted over all tokens of the request
  std::vector<uint64_t> row_ids;  // [K]; empty where the request leaves masked rows out
};

struct ModelAnswer {
  bool admitted = false;
  absl::StatusCode code = absl::StatusCode::kOk;        // of the step, if nothing happens to it on its way
  std::vector<ModelSegment> segments;                   // as in the request
  std::vector<ModelToken> tokens;                       // in the order of the frames
  uint64_t owed_bytes = 0;                              // of all rows, or hash ids
  std::vector<std::shared_ptr<ModelSession>> sessions;  // counted as used until ProtocolModel::End
};

struct ModelRoom {
  bool step = true;
  uint64_t bytes_free = ~uint64_t{0};
};

// Keeps everything as plain vectors, has no budget, shares nothing with the code it checks but the hash constants.
class ProtocolModel {
 public:
  explicit ProtocolModel(const SimModel& sim) : sim_(sim) {}

  // A step that arrives from `client` on `stream`. Order of checks as documented for Admission.
  ModelAnswer Admit(const std::string& client, uint64_t stream, const v1::StepRequest& request, const ModelRoom& room);
  // The step is under way no more.
  static void End(ModelAnswer& answer);
  // Its private sessions go with a stream.
  void Forget(const std::string& client);

  const ModelSession* Find(const std::string& client, uint64_t session_id) const;
  size_t sessions() const { return sessions_.size(); }

  // Row ids [K] of a position by the formula of the paper.
  std::vector<uint64_t> RowIds(size_t layer_index, const ModelSession& history, uint64_t position) const;

 private:
  using Key = std::pair<std::string, uint64_t>;

  absl::StatusCode CheckStep(const v1::StepRequest& request, const ModelRoom& room) const;
  uint64_t OwedBytes(const v1::StepRequest& request, const std::vector<size_t>& segments) const;
  // What the segment makes of its session, or why not. `written` counts from its own base.
  absl::StatusCode Apply(const std::string& client, uint64_t stream, const v1::Segment& segment,
                         ModelSession& written) const;
  absl::StatusCode SeedFrom(const std::string& client, const v1::Segment& segment, ModelSession& written) const;
  absl::StatusCode CutAt(uint64_t start_pos, ModelSession& written) const;
  bool Compress(const google::protobuf::RepeatedField<uint32_t>& tokens, const std::string& mask,
                std::vector<int32_t>& ids) const;
  void AddTokens(const v1::StepRequest& request, const std::vector<size_t>& segments,
                 const std::vector<ModelSession>& written, ModelAnswer& answer) const;
  std::vector<size_t> LayersOf(const v1::StepRequest& request) const;
  std::vector<int32_t> LastIds(const ModelSession& session) const;
  uint64_t lookback_max() const { return sim_.geometry().max_ngram_size - 1; }

  const SimModel& sim_;
  std::map<Key, std::shared_ptr<ModelSession>> sessions_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_PROTOCOL_MODEL_H_
