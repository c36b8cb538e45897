#include "server/logging.h"

#include <google/protobuf/stubs/logging.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

// Protobuf has words on standard error for every message with a string that is no UTF-8: clients must not fill the log.
void LogProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& text) {
  spdlog::debug("protobuf: {}", text);
}

}  // namespace

void InitLogging(const std::string& level, int rank) {
  auto logger = std::make_shared<spdlog::logger>("engram", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::from_str(level));
  const std::string who = rank < 0 ? "rank ?" : absl::StrCat("rank ", rank);
  logger->set_pattern(absl::StrCat("%Y-%m-%d %H:%M:%S.%e ", who, " %l: %v"));
  spdlog::set_default_logger(std::move(logger));
  google::protobuf::SetLogHandler(LogProtobuf);
}

}  // namespace engram
