// A service of the tests on a free port of 127.0.0.1.

#ifndef ENGRAM_TESTS_UNIT_CLIENT_LOOPBACK_H_
#define ENGRAM_TESTS_UNIT_CLIENT_LOOPBACK_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace engram {

// Listens until the server is shut down; `address` becomes its HOST:PORT.
inline std::unique_ptr<grpc::Server> ServeOnLoopback(grpc::Service& service, std::string& address) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  address = "127.0.0.1:" + std::to_string(port);
  return server;
}

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_CLIENT_LOOPBACK_H_
