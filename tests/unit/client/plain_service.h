// A whole lookup service in the plainest form: one stream, one thread, sessions as vectors, rows by pread. What
// `engram verify` finds right, and what it must find wrong once a byte is flipped.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_PLAIN_SERVICE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_PLAIN_SERVICE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/tool/oracle.h"
#include "tests/unit/client/fake_service.h"

namespace engram {

struct PlainFaults {
  uint64_t flip_row = 0;         // flip a bit of the n-th row (or row id) sent, counted from 1; 0: none
  bool forget_rewinds = false;   // keeps what stood behind a rewind
  bool lose_minus_zero = false;  // as ALL_REDUCE_BF16 over ranks
};

class PlainService {
 public:
  // `oracle` must outlive it.
  PlainService(const Oracle& oracle, PlainFaults faults) : oracle_(oracle), faults_(faults) {}

  v1::Welcome MakeWelcome() const;
  // Answers steps until the client leaves.
  grpc::Status Serve(FakeStream& stream);

 private:
  struct Session {
    uint64_t begin = 0;        // position of ids[0]
    std::vector<int32_t> ids;  // compressed, kDead = masked

    uint64_t length() const { return begin + ids.size(); }
  };
  // A segment's compressed ids and what stands before them.
  struct Window {
    uint64_t start_pos = 0;
    size_t lookback = 0;
    std::vector<int32_t> ids;
  };

  void Answer(const v1::StepRequest& step, FakeStream& stream);
  absl::Status Apply(const v1::Segment& segment, Window& window);
  absl::StatusOr<Session> Before(const v1::Segment& segment);
  absl::StatusOr<std::vector<int32_t>> Compressed(const google::protobuf::RepeatedField<uint32_t>& tokens,
                                                  const std::string& mask) const;
  void SendLayer(const v1::StepRequest& step, uint32_t layer, const std::vector<Window>& windows, FakeStream& stream);
  void AppendToken(const v1::StepRequest& step, size_t layer_index, const Window& window, size_t index,
                   v1::StepReply& frame);
  std::string RowOf(v1::RowFormat format, size_t layer_index, uint64_t row);

  const Oracle& oracle_;
  const PlainFaults faults_;
  uint64_t rows_sent_ = 0;
  std::map<uint64_t, Session> sessions_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_PLAIN_SERVICE_H_
