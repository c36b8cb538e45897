// How the client opens channels. Private to client/: the only header besides client_stream.h that names gRPC.

#ifndef ENGRAM_CLIENT_CHANNEL_H_
#define ENGRAM_CLIENT_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "client/connection.h"

namespace engram {

grpc::ChannelArguments ArgumentsOf(const ConnectionOptions& options);

// A channel with a connection of its own, never shared with another Connection of the process.
std::shared_ptr<grpc::Channel> OpenChannel(const ConnectionOptions& options);

// What a connection with these options says first.
v1::Hello HelloOf(const ConnectionOptions& options);

}  // namespace engram

#endif  // ENGRAM_CLIENT_CHANNEL_H_
