#include "client/tool/report.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace engram {
namespace {

int Print(const std::string& command, const absl::Status& status, int exit_code) {
  absl::FPrintF(stderr, "engram %s: %s (%s)\n", command, status.message(), absl::StatusCodeToString(status.code()));
  return exit_code;
}

}  // namespace

int Fail(const std::string& command, const absl::Status& status) { return Print(command, status, kExitFailure); }
int FailUsage(const std::string& command, const absl::Status& status) { return Print(command, status, kExitUsage); }

std::string NameOfFormat(int format) {
  switch (format) {
    case v1::ROW_FORMAT_PACKED:
      return "packed";
    case v1::ROW_FORMAT_BF16:
      return "bf16";
    case v1::ROW_FORMAT_HASH_IDS:
      return "hash_ids";
    default:
      return absl::StrCat("format ", format);
  }
}

absl::StatusOr<v1::RowFormat> ParseRowFormat(const std::string& text) {
  for (const v1::RowFormat format : {v1::ROW_FORMAT_PACKED, v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_HASH_IDS}) {
    if (text == NameOfFormat(format)) return format;
  }
  return absl::InvalidArgumentError(absl::StrCat("format '", text, "' is none of packed, bf16, hash_ids"));
}

absl::StatusOr<std::vector<v1::RowFormat>> ParseRowFormats(const std::string& text) {
  std::vector<v1::RowFormat> formats;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    const absl::StatusOr<v1::RowFormat> format = ParseRowFormat(std::string(word));
    if (!format.ok()) return format.status();
    if (std::find(formats.begin(), formats.end(), *format) == formats.end()) formats.push_back(*format);
  }
  return formats;
}

}  // namespace engram
