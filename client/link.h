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
#include "client/seeded_segment.h"
#include "client/submitted_step.h"

namespace engram {

// What becomes of a step after an answer.
enum class Verdict {
  kFinished,   // the result is the caller's
  kAgain,      // the server has lost a session: once more, with seeds
  kBusy,       // a session is in use by another stream: once more, later
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

  // RESOURCE_EXHAUSTED where the server's limits never let the step in, with the seeds that it needs here.
  absl::Status CheckLimits(const SubmittedStep& step) const;
  // Whether the step may be sent now: the server has room, and neither it nor what is in flight is a suspect. One whose
  // answer alone is too large is sent, to be refused.
  bool HasRoomFor(const SubmittedStep& step) const;
  // Sends it, with seeds where the server may not know a session. `answered` gets the result, on another thread. Not OK
  // when the connection takes no further steps. Call when HasRoomFor it.
  absl::Status Send(const SubmittedStep& step, ClientClock::time_point now, std::function<void(StepResult)> answered);
  // Call with what `answered` got: notes what the server knows now, and says what comes next.
  Verdict Answered(uint64_t step_id, StepResult& result);
  // Asks the server to give the step up, if it is in flight here.
  void Cancel(uint64_t step_id);

  // Without the client's lock: ends the connection. No reaction runs any more afterwards.
  void Shutdown() { stream_->Shutdown(); }

 private:
  struct Flying {
    uint64_t wire_id = 0;  // the step's id on this stream
    uint64_t bytes = 0;    // of its answer
    bool all_tracked = false;
    bool suspect = false;  // as the step is
    bool alone = true;     // nothing else was in flight at any time
    std::vector<SeededSegment> segments;
  };

  // Of the rows of the step's tokens and of `replayed` ones.
  uint64_t AnswerBytes(const v1::StepRequest& request, uint64_t replayed) const;
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
