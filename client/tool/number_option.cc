#include "client/tool/number_option.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace engram {

CLI::Validator WholeNumber(uint64_t low, uint64_t high) {
  const auto check = [low, high](const std::string& text) {
    uint64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= low && value <= high) return std::string();
    return absl::StrCat("'", text, "' is no whole number from ", low, " to ", high);
  };
  return CLI::Validator(check, "");
}

}  // namespace engram
