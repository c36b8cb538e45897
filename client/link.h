// One connection of a Client: from the attempt to reach a server to the last answer it owes.

#ifndef ENGRAM_CLIENT_LINK_H_
#define ENGRAM_CLIENT_LINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/client_stream.h"
#include "client/connection.h"
#include "client/submitted_step.h"

namespace engram {

// What becomes of a step after an answer.
enum class Verdict {
  kFinished,   // the result is the caller's
  kAgain,      // the server has lost a session: once more, with seeds
  kElsewhere,  // this server cannot serve now: once more, on another connection
  kLost,       // the connection ended first: once more, on another connection
};

// Guarded by its client's lock but for Shutdown. Destroy it after Shutdown.
class Link : public std::enable_shared_from_this<Link> {
 public:
  // Starts to connect. `changed` as in ClientStream.
  Link(const ConnectionOptions& options, std::function<void()> changed);

  const std::string& address() const { return address_; }
  StreamState state() const { return stream_->state(); }
  bool idle() const { return flying_.empty(); }

  // Takes the Welcome in, once state() says it came. INTERNAL when it makes no sense, FAILED_PRECONDITION when the
  // model is not the one the options ask for, whether or not the server has noticed.
  absl::Status Open();
  const v1::Model& model() const { return welcome_.model(); }

  // Whether the server's bounds let the step be sent now. One that alone is too large is sent, to be refused.
  bool HasRoomFor(const SubmittedStep& step) const;
  // Sends it, with seeds where the server may not know a session. `answered` gets the result, on another thread. Not OK
  // when the connection takes no further steps.
  absl::Status Send(const SubmittedStep& step, ClientClock::time_point now, std::function<void(StepResult)> answered);
  // Call with what `answered` got: notes what the server knows now, and says what comes next.
  Verdict Answered(uint64_t step_id, StepResult& result);
  // Asks the server to give the step up, if it is in flight here.
  void Cancel(uint64_t step_id);

  // Without the client's lock: ends the connection. No reaction runs any more afterwards.
  void Shutdown() { stream_->Shutdown(); }

 private:
  struct SentSegment {
    int index = 0;
    std::shared_ptr<ServerView> view;
    uint64_t edit = 0;
    uint64_t begin = 0;    // first position of the look-back
    bool seeded = false;   // else the server was sure to know it
    bool too_few = false;  // tokens of look-back: the server will refuse it
    std::string missing;   // what to say then
  };
  struct Flying {
    uint64_t wire_id = 0;  // the step's id on this stream
    uint64_t bytes = 0;    // of its answer
    bool all_tracked = false;
    std::vector<SentSegment> segments;
  };

  SentSegment Resume(const TrackedSegment& tracked, v1::Segment& segment) const;
  uint64_t AnswerBytes(const v1::StepRequest& request) const;
  Verdict Judge(const Flying& sent, const StepResult& result) const;

  const uint64_t id_;  // unique in this process
  const std::string address_;
  const std::string model_digest_;
  const std::shared_ptr<ClientStream> stream_;
  v1::Welcome welcome_;
  Geometry geometry_;
  std::map<uint64_t, Flying> flying_;  // by SubmittedStep::step_id
  uint64_t flying_bytes_ = 0;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_LINK_H_
