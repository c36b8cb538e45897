// How the client opens channels. Private to client/: the only header besides client_stream.h that names gRPC.

#ifndef ENGRAM_CLIENT_CHANNEL_H_
#define ENGRAM_CLIENT_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "client/client.h"

namespace engram {

// A channel with a connection of its own, never shared with another Client of the process.
std::shared_ptr<grpc::Channel> OpenChannel(const ClientOptions& options);

}  // namespace engram

#endif  // ENGRAM_CLIENT_CHANNEL_H_
