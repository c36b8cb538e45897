// Options that are whole numbers.

#ifndef ENGRAM_CLIENT_TOOL_NUMBER_OPTION_H_
#define ENGRAM_CLIENT_TOOL_NUMBER_OPTION_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace engram {

// For Option::check: decimal digits from `low` to `high`, else an error that names the text and both bounds. CLI11 by
// itself takes -1 and 2^64 for other numbers.
CLI::Validator WholeNumber(uint64_t low, uint64_t high = std::numeric_limits<uint64_t>::max());

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_NUMBER_OPTION_H_
