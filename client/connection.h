// The C++ client of the lookup service: connect, submit steps, wait for rows.

#ifndef ENGRAM_CLIENT_CONNECTION_H_
#define ENGRAM_CLIENT_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/client_segment.h"
#include "client/step_result.h"
#include "engram/v1/admin.pb.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"

namespace engram {

class ClientStream;
class PendingStep;

struct ConnectionOptions {
  std::string address;       // HOST:PORT
  std::string client_id;     // names this client's sessions, at most 256 bytes; empty: private to this connection
  std::string model_digest;  // Model.model_digest (32 bytes) the server must serve; empty: any
  std::string model_name;    // Model.name the server must serve; empty: any
  absl::Duration connect_timeout = absl::Seconds(10);   // until the server's Welcome
  absl::Duration keepalive = absl::Seconds(20);         // between pings of a silent connection; infinite: none
  absl::Duration keepalive_timeout = absl::Seconds(5);  // for the answer to a ping; then the connection is lost
  int receive_bytes_max = 64 << 20;                     // of one message; the server's frame_bytes_max must be below
  SharedMemoryOptions shared_memory;
};

// A submitted step. Movable; it may outlive the Connection. One thread at a time.
class StepHandle {
 public:
  StepHandle(std::shared_ptr<PendingStep> step, std::weak_ptr<ClientStream> stream);
  StepHandle(StepHandle&&) noexcept;
  StepHandle& operator=(StepHandle&&) noexcept;
  ~StepHandle();

  uint64_t step_id() const;
  // Whether the step finished within `timeout`; a zero timeout only looks.
  bool WaitFor(absl::Duration timeout) const;
  // Waits until the step finished and hands its result out; call once. It ends with the client's connection at the
  // latest.
  StepResult Wait();
  // Asks the server to give the step up; its result then says CANCELLED unless it had finished first.
  void Cancel();

 private:
  std::shared_ptr<PendingStep> step_;
  std::weak_ptr<ClientStream> stream_;
};

// One connection: a channel and a Stream of its own (use one Connection for prefill and another for decode, so that a
// small answer does not queue behind a large one). Thread-safe: any thread may submit; steps are admitted by the server
// in the order of the Submit calls. Destroying it at any time is safe: unfinished steps end with CANCELLED. A
// connection that was lost stays lost: connect a new Connection and seed its sessions, or name them by the same
// client_id.
class Connection {
 public:
  // Errors: UNAVAILABLE (nobody listens, or draining), DEADLINE_EXCEEDED (no Welcome in time), FAILED_PRECONDITION
  // (another model than the options ask for, or no shared memory where it is required), INTERNAL (a Welcome that makes
  // no sense).
  static absl::StatusOr<std::unique_ptr<Connection>> Connect(const ConnectionOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const v1::Welcome& welcome() const { return welcome_; }
  const v1::Model& model() const { return welcome_.model(); }
  const Geometry& geometry() const { return geometry_; }

  // Sends a step and returns at once. step.step_id is ignored: the client numbers its steps. What the step asks for is
  // checked by the server alone, whose refusal is the result's status. Under step.unique_rows rows come out as without
  // it, copied here; with `keep_unique` as they came (LayerRows::row_index).
  // Errors: RESOURCE_EXHAUSTED when Welcome.steps_in_flight_max steps are unanswered; UNAVAILABLE or the stream's own
  // error when the connection has ended or drains.
  absl::StatusOr<StepHandle> Submit(v1::StepRequest step, bool keep_unique = false);

  // Submit and Wait.
  StepResult Run(v1::StepRequest step);

  // OK while rows come through shared memory; else why they come in messages.
  absl::Status shared_memory_status() const;

  // OK while steps can be submitted; else why not.
  absl::Status status() const;

 private:
  Connection(std::shared_ptr<ClientStream> stream, v1::Welcome welcome, Geometry geometry);

  std::shared_ptr<ClientStream> stream_;
  const v1::Welcome welcome_;
  const Geometry geometry_;
};

// GetModel of a server. Errors: UNAVAILABLE, DEADLINE_EXCEEDED, or the server's.
absl::StatusOr<v1::Model> FetchModel(const std::string& address, absl::Duration timeout);

// Its state at this moment. Errors as FetchModel; UNIMPLEMENTED from a server that has no EngramAdmin.
absl::StatusOr<v1::ServerStatus> FetchServerStatus(const std::string& address, absl::Duration timeout);

// What grpc.health.v1 says of a server: "SERVING", "NOT_SERVING", "UNKNOWN". Errors as FetchModel.
absl::StatusOr<std::string> FetchHealth(const std::string& address, absl::Duration timeout);

}  // namespace engram

#endif  // ENGRAM_CLIENT_CONNECTION_H_
