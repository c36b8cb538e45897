// absl::Status as gRPC's. The codes are the same numbers.

#ifndef ENGRAM_SERVER_GRPC_STATUS_H_
#define ENGRAM_SERVER_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace engram {

inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace engram

#endif  // ENGRAM_SERVER_GRPC_STATUS_H_
