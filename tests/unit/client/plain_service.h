// A whole lookup service in the plainest form: one stream, one thread, sessions as vectors, rows by pread. What
// `engram verify` finds right, and what it must find wrong once a byte is flipped.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_PLAIN_SERVICE_H_
#define ENGRAM_TESTS_UNIT_CLIENT_PLAIN_SERVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/tool/oracle.h"
#include "client/tool/verify_servers.h"
#include "model/mutex.h"
#include "tests/unit/client/fake_service.h"

namespace engram {

struct PlainFaults {
  uint64_t flip_row = 0;          // flip a bit of the n-th row (or row id) sent, counted from 1; 0: none
  bool forget_rewinds = false;    // keeps what stood behind a rewind
  bool lose_minus_zero = false;   // as ALL_REDUCE_BF16 over ranks
  bool flip_cancelled = false;    // answers each cancelled step with rows, the first of them with a flipped bit
  bool forget_cancelled = false;  // the history of cancelled steps does not stand
  absl::Duration welcome_delay;   // no fault, but slow
};

// Listens on a free port of 127.0.0.1 until it is destroyed. Streams with one client_id share their sessions; a step
// whose cancellation has arrived before its turn ends CANCELLED.
class PlainService : public v1::EngramLookup::Service {
 public:
  // `oracle` must outlive it.
  PlainService(const Oracle& oracle, PlainFaults faults);
  ~PlainService() override;

  // As `engram verify` would find it, every format included.
  ServerUnderTest Description() const;
  // A client of this server, its sessions private; connecting must succeed.
  std::unique_ptr<Connection> Connect() const;
  uint64_t cancelled() const ABSL_LOCKS_EXCLUDED(mu_);  // steps that ended so
  size_t sessions() const ABSL_LOCKS_EXCLUDED(mu_);     // that are open

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

  // A client and a number, as a session is named.
  using Key = std::pair<std::string, uint64_t>;

  grpc::Status Stream(grpc::ServerContext* context, FakeStream* stream) override;
  grpc::Status GetModel(grpc::ServerContext* context, const v1::GetModelRequest* request, v1::Model* model) override;
  v1::Welcome MakeWelcome() const;
  std::string NameOf(const v1::Hello& hello) ABSL_LOCKS_EXCLUDED(mu_);

  void Answer(const std::string& client, const v1::StepRequest& step, bool cancelled, FakeStream& stream)
      ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<Window> ApplyAll(const std::string& client, const v1::StepRequest& step, v1::StepReply& first)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Apply(const std::string& client, const v1::Segment& segment, Window& window)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Session> Before(const std::string& client, const v1::Segment& segment)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<std::vector<int32_t>> Compressed(const google::protobuf::RepeatedField<uint32_t>& tokens,
                                                  const std::string& mask) const;
  void SendLayer(const v1::StepRequest& step, uint32_t layer, const std::vector<Window>& windows, FakeStream& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendToken(const v1::StepRequest& step, size_t layer_index, const Window& window, size_t index,
                   v1::StepReply& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string RowOf(v1::RowFormat format, size_t layer_index, uint64_t row) const;

  const Oracle& oracle_;
  const PlainFaults faults_;
  mutable Mutex mu_;
  uint64_t rows_sent_ ABSL_GUARDED_BY(mu_) = 0;
  bool flip_next_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t cancelled_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t private_clients_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Key, Session> sessions_ ABSL_GUARDED_BY(mu_);
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_PLAIN_SERVICE_H_
