// One stream: the wire that StreamCall sees, and the client at its other end.

#ifndef ENGRAM_TESTS_SIM_SIM_STREAM_H_
#define ENGRAM_TESTS_SIM_SIM_STREAM_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engram/v1/engram.pb.h"
#include "model/mutex.h"
#include "server/stream_call.h"
#include "tests/sim/reactions.h"

namespace engram {

// How the wire behaves. Delays are drawn from `seed`, evenly from 0 up.
struct SimWire {
  uint64_t seed = 1;
  absl::Duration read_delay_max = absl::ZeroDuration();   // from the client's Send to the server's event
  absl::Duration write_delay_max = absl::ZeroDuration();  // from the server's Write until the client has taken it
  bool never_reads = false;                               // the first Write is never answered but by Cancel
};

// Does what gRPC does under a StreamReactor: events of reading, of writing and of cancellation come from different
// threads; a cancelled call fails what is outstanding and all that follows; OnDone comes when everything else has
// returned. What StreamCall must not do to it is a test failure. Thread-safe; keeps itself alive until OnDone.
class SimStream final : public StreamTransport, public std::enable_shared_from_this<SimStream> {
 public:
  SimStream(const ServiceContext& context, StreamRegistry& registry, Reactions& reactions, const SimWire& wire);

  const std::shared_ptr<StreamCall>& call() const { return call_; }
  void Start();  // once `call` is in the registry

  // The client. Time stands still for a step that says when it arrived.
  void Send(const v1::ClientMessage& message, std::optional<absl::Time> arrival = std::nullopt);
  void SendBytes(std::string bytes);  // what may be no message
  void HalfClose();
  void Cancel();
  // While true, writes are not answered.
  void Hold(bool hold);

  // Messages that the server has written since the last Take. Still counted as outstanding until answered.
  std::vector<v1::ServerMessage> Take();
  size_t unread() const;  // of what was sent, by the server
  bool done() const;
  bool WaitDone(absl::Duration wait) const;
  absl::Status status() const;  // the stream's, once done

 private:
  struct Sent {
    std::string bytes;
    std::optional<absl::Time> arrival;
  };

  void Read() override;
  void Write(OutMessage message) override;
  void Finish(const absl::Status& status) override;

  void Post(absl::Duration delay, std::function<void()> event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PostRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PostWritten(absl::Duration delay, bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration Delay(absl::Duration max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Push(Sent sent);
  void React(const Sent& sent);
  void EventEnded();

  Reactions& reactions_;
  const SimWire wire_;
  const std::shared_ptr<StreamCall> call_;

  mutable Mutex mu_;
  mutable CondVar changed_;
  std::shared_ptr<SimStream> self_ ABSL_GUARDED_BY(mu_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
  std::deque<Sent> inbox_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::ServerMessage> received_ ABSL_GUARDED_BY(mu_);
  std::optional<OutMessage> writing_ ABSL_GUARDED_BY(mu_);  // keeps its lease until answered, as gRPC does
  bool unanswered_ ABSL_GUARDED_BY(mu_) = false;            // no event of that write is posted yet
  bool reading_ ABSL_GUARDED_BY(mu_) = false;               // a Read waits for a message
  bool half_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // OnDone is being called
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  int events_ ABSL_GUARDED_BY(mu_) = 0;  // posted or running
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_SIM_STREAM_H_
