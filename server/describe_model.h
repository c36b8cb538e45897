// What this server says of itself: the Model message, and lines for the log.

#ifndef ENGRAM_SERVER_DESCRIBE_MODEL_H_
#define ENGRAM_SERVER_DESCRIBE_MODEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "engram/v1/config.pb.h"
#include "engram/v1/engram.pb.h"
#include "model/files/checkpoint.h"

namespace engram {

std::string_view ServerVersion();

// `config` is complete and validated; `ranks` the number the rows are sharded over.
v1::Model DescribeModel(const Checkpoint& checkpoint, const v1::ServerConfig& config, int ranks);

// One line each: the model and its digests, each layer with the rows of every rank (of the first and last ones where
// there are many), and what bounds the memory.
std::vector<std::string> DescribeForLog(const v1::Model& model, const v1::ServerConfig& config);

}  // namespace engram

#endif  // ENGRAM_SERVER_DESCRIBE_MODEL_H_
