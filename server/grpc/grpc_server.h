// The gRPC server: service, health, reflection, and how they stop.

#ifndef ENGRAM_SERVER_GRPC_GRPC_SERVER_H_
#define ENGRAM_SERVER_GRPC_GRPC_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/grpc/service_context.h"

namespace grpc {
class Server;
}

namespace engram {

class LookupService;

// Listens from Start until Shutdown or destruction; health says NOT_SERVING until SetServing(true). Thread-safe.
class GrpcServer {
 public:
  // `address`: HOST:PORT, port 0 for any free one. What `context` refers to must outlive the server. UNAVAILABLE naming
  // the address when it cannot listen there.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const std::string& address, const ServiceContext& context);
  ~GrpcServer();

  int port() const { return port_; }

  // Health of "" and "engram.v1.EngramLookup".
  void SetServing(bool serving);

  // Health off, new streams refused, Drain told to the others. Streams whose client half-closes end with OK as soon as
  // their admitted steps are answered, the rest after a moment's grace with UNAVAILABLE. Blocks until no stream is open
  // or for `timeout`; false when some are left. The caller has closed the gate.
  bool Drain(const std::string& why, absl::Duration timeout);

  // Refuses new calls, cancels what is left after `grace`, waits a bounded while for all reactions. Idempotent.
  void Shutdown(absl::Duration grace);

 private:
  GrpcServer(std::unique_ptr<LookupService> service, std::unique_ptr<grpc::Server> server, int port);

  std::unique_ptr<LookupService> service_;  // null once Shutdown had to leave it behind
  const std::unique_ptr<grpc::Server> server_;
  const int port_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_GRPC_SERVER_H_
