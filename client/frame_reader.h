// Reads a ServerMessage without touching its row bytes, so that they can be copied once, to where they belong.

#ifndef ENGRAM_CLIENT_FRAME_READER_H_
#define ENGRAM_CLIENT_FRAME_READER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engram/v1/engram.pb.h"
#include "google/protobuf/io/zero_copy_stream.h"

namespace engram {

struct ServerFrame {
  v1::ServerMessage message;  // reply.rows left empty
  uint64_t rows_offset = 0;   // of reply.rows in the serialised message
  uint64_t rows_size = 0;
};

// Walks the wire format once: every field but StepReply.rows goes to the generated parser, in whatever order the fields
// come. Stateless. INTERNAL when the bytes are no ServerMessage; sizes are checked against the message before anything
// is allocated.
absl::StatusOr<ServerFrame> ReadServerFrame(google::protobuf::io::ZeroCopyInputStream& input, uint64_t message_bytes);

// Copies `size` bytes on from the stream's position; false when it ends before.
bool CopyBytes(google::protobuf::io::ZeroCopyInputStream& input, uint8_t* out, uint64_t size);

}  // namespace engram

#endif  // ENGRAM_CLIENT_FRAME_READER_H_
