// The C++ client that survives its servers: several addresses, reconnection, sessions taken up where they were.

#ifndef ENGRAM_CLIENT_CLIENT_H_
#define ENGRAM_CLIENT_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/backoff.h"
#include "client/client_segment.h"
#include "client/step_result.h"
#include "client/tracked_session.h"
#include "engram/v1/engram.pb.h"

namespace engram {

class ClientCore;
class SubmittedStep;

struct ClientOptions {
  std::vector<std::string> addresses;  // HOST:PORT, tried in turn; at least one
  // As in ConnectionOptions. Sessions need no client_id to survive a connection; a model_digest that is empty becomes
  // that of the first server, so that later ones serve the same rows.
  std::string client_id;
  std::string model_digest;
  std::string model_name;
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration keepalive = absl::Seconds(20);
  absl::Duration keepalive_timeout = absl::Seconds(5);
  int receive_bytes_max = 64 << 20;
  SharedMemoryOptions shared_memory;  // a new segment with each connection

  BackoffOptions backoff;               // each time all addresses have failed
  std::optional<uint64_t> random_seed;  // of the back-off's jitter; absent: a random one
  // A step that no server could take for so long ends with UNAVAILABLE; a segment whose session another stream has used
  // for so long with ABORTED.
  absl::Duration unavailable_timeout = absl::Seconds(60);
  uint32_t losses_max = 5;                           // a step that has lost so many connections: UNAVAILABLE
  uint64_t steps_max = 1024;                         // unfinished; one more is RESOURCE_EXHAUSTED
  uint64_t request_bytes_max = uint64_t{256} << 20;  // of unfinished steps' requests, serialised; likewise
};

struct StepOptions {
  // From submission; then the step ends with DEADLINE_EXCEEDED, whatever the server does. It is told too.
  absl::Duration timeout = absl::InfiniteDuration();
  // Under request.unique_rows: leave rows as they came, see LayerRows::row_index. Else they are copied to every place.
  bool keep_unique = false;
};

// A submitted step. Movable; it may outlive the Client. One thread at a time.
class StepFuture {
 public:
  StepFuture(std::shared_ptr<SubmittedStep> step, std::weak_ptr<ClientCore> core);

  uint64_t step_id() const;
  // Whether the step finished within `timeout`; a zero timeout only looks.
  bool WaitFor(absl::Duration timeout) const;
  // Waits until the step finished and hands its result out; call once. It ends with its client at the latest.
  StepResult Wait();
  // Ends the step with CANCELLED at once, unless it has finished, and tells the server. What it wrote to sessions may
  // stand all the same: a TrackedSession takes care of that.
  void Cancel();

 private:
  std::shared_ptr<SubmittedStep> step_;
  std::weak_ptr<ClientCore> core_;
};

// Connects in the background, on one thread of its own, and keeps one connection; use one Client for prefill and
// another for decode, so that small answers do not queue behind large ones. Thread-safe: any thread may submit; steps
// are sent in the order of the Submit calls, as many at a time as the server takes, and wait here meanwhile.
//
// When the connection is lost, or a server says that it cannot serve, the next address is tried; once all have failed,
// after a back-off. Steps without an answer are sent again, in order. Segments of a TrackedSession then carry a seed
// where the server may not know the session; other segments are sent again as they are, and a server that does not know
// their session refuses them. A draining server finishes what it has while further steps go to the next address. A step
// is answered once.
//
// One bad step harms no other. What the server's limits never let in is not sent. When a server ends the connection
// with an error all the same, the steps that were in flight go one at a time until the one that it cannot read is
// found.
//
// Memory: steps_max and request_bytes_max here; answers on their way are bounded by the server's bytes_in_flight_max;
// those that arrived belong to their futures.
//
// Destroying it at any time is safe: unfinished steps end with CANCELLED before the destructor returns.
class Client {
 public:
  // INVALID_ARGUMENT for options out of bounds. Does not wait for a server.
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Waits until a server has been reached and describes what it serves; at once from then on.
  // Errors: the servers' refusal when all refuse for good; DEADLINE_EXCEEDED with the last failure.
  absl::StatusOr<v1::Model> AwaitModel(absl::Duration timeout);

  // Takes a step and returns at once, connected or not; request.step_id is ignored. The result's status is the step's
  // code at the server, or
  //   DEADLINE_EXCEEDED, CANCELLED  see StepOptions, StepFuture::Cancel and the destructor
  //   UNAVAILABLE                   see unavailable_timeout and losses_max
  //   RESOURCE_EXHAUSTED            the step, with the seeds it needs, is above Model.limits, or its request is too
  //                                 long for the server to read
  //   what the servers say          when every address refuses the client for good: another model, no permission
  // Errors: RESOURCE_EXHAUSTED naming the bound; INVALID_ARGUMENT for a step that is not what Append made it, or that
  // has a string that is not UTF-8.
  absl::StatusOr<StepFuture> Submit(TrackedStep step, StepOptions options = {});

  // The same with a callback, called exactly once if the returned status is OK. It runs on the thread that ends the
  // step: one of gRPC's, the client's own, or the one that destroys the client, perhaps before Submit returns. It must
  // not block, as answers, deadlines and reconnection wait for it. It may submit steps. It must not destroy the client.
  absl::Status Submit(TrackedStep step, std::function<void(StepResult)> done, StepOptions options = {});

  // Submit and Wait.
  StepResult Run(TrackedStep step, StepOptions options = {});

  // OK while connected to a server that takes steps; else the last failure.
  absl::Status status() const;

 private:
  explicit Client(std::shared_ptr<ClientCore> core);

  const std::shared_ptr<ClientCore> core_;
};

}  // namespace engram

#endif  // ENGRAM_CLIENT_CLIENT_H_
