// One stream that lives as a seed says.

#ifndef ENGRAM_TESTS_SOAK_RANDOM_STREAM_H_
#define ENGRAM_TESTS_SOAK_RANDOM_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "engram/v1/engram.grpc.pb.h"

namespace engram {

// What a stream does.
struct StreamLife {
  enum class End {
    kOrderly,     // reads every answer, half-closes, expects OK
    kHalfClosed,  // half-closes at once and is cancelled while it reads
    kCancelled,   // is cancelled while it writes and reads
    kNeverReads,  // is cancelled without having read anything
  } end = End::kOrderly;
  std::vector<v1::ClientMessage> messages;  // hello, then steps
  absl::Duration until_cancel;              // from the start, unless kOrderly
};

// Life cycle: construct, Run once (blocks until the call is over), destroy.
class RandomStream : public grpc::ClientBidiReactor<v1::ClientMessage, v1::ServerMessage> {
 public:
  explicit RandomStream(const StreamLife& life) : life_(life) {}

  // What is wrong with how the call went: of an orderly one anything but an OK end with exactly one last frame a step;
  // of any other an end that is neither OK nor CANCELLED.
  absl::Status Run(const std::shared_ptr<grpc::Channel>& channel);

  uint64_t frames() const { return frames_; }

 private:
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  absl::Status Verdict() const;

  const StreamLife& life_;
  grpc::ClientContext context_;
  absl::Notification done_;
  grpc::Status status_;
  size_t written_ = 0;
  v1::ServerMessage incoming_;
  uint64_t frames_ = 0;
  uint64_t last_frames_ = 0;
  std::string failure_;  // of a step that should have been answered
};

}  // namespace engram

#endif  // ENGRAM_TESTS_SOAK_RANDOM_STREAM_H_
