// The command line of `engram load`.

#ifndef ENGRAM_CLIENT_TOOL_LOAD_FLAGS_H_
#define ENGRAM_CLIENT_TOOL_LOAD_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/load/options.h"

namespace engram {

// As given.
struct LoadFlags {
  LoadOptions options;  // numbers go straight in
  std::string profile = "decode";
  std::string replay;
  std::string record;
  std::string format = "packed";
  std::string tokens_from;
  std::string arrival;
  std::optional<double> rate;
  std::optional<uint64_t> in_flight;
  std::string duration;
  std::string warm_up = "1s";
  std::string timeout = "30s";
  std::string reconnect_every;
  std::string checkpoint;
  std::string hash_constants;
  std::string slo;
  std::string json;
  std::string html;
  bool quiet = false;
};

// `flags` must outlive the parsing.
void AddLoadFlags(CLI::App& command, LoadFlags& flags);

// What they ask for; reads --tokens-from and --replay. INVALID_ARGUMENT naming the flag, its value and the bound.
absl::StatusOr<LoadOptions> OptionsOf(const LoadFlags& flags);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_LOAD_FLAGS_H_
