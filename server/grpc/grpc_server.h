// The gRPC server: services, health, reflection, and how they stop.

#ifndef ENGRAM_SERVER_GRPC_GRPC_SERVER_H_
#define ENGRAM_SERVER_GRPC_GRPC_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/service_context.h"

namespace grpc {
class Server;
}

namespace engram {

class AdminService;
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

  // Health off, then StreamRegistry::Drain.
  bool Drain(const std::string& why, absl::Duration timeout);

  // Refuses new calls, cancels what is left after `grace`, waits a bounded while for all reactions. Idempotent.
  void Shutdown(absl::Duration grace);

 private:
  GrpcServer(std::unique_ptr<LookupService> service, std::unique_ptr<AdminService> admin,
             std::unique_ptr<grpc::Server> server, int port);

  std::unique_ptr<LookupService> service_;  // null once Shutdown had to leave it behind
  const std::unique_ptr<AdminService> admin_;
  const std::unique_ptr<grpc::Server> server_;
  const int port_;
};

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_GRPC_SERVER_H_
