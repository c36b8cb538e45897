#include "model/token_map.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/ustring.h>

#include <unordered_map>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

using icu::Normalizer2;
using icu::UnicodeString;

absl::Status IcuError(const char* what, UErrorCode code) {
  return absl::InternalError(absl::StrCat("ICU: ", what, ": ", u_errorName(code)));
}

// Strict: ICU's own conversion would turn a broken sequence into U+FFFD and so into another key.
absl::StatusOr<UnicodeString> ReadUtf8(const std::string& text) {
  if (text.size() > INT32_MAX) return absl::InvalidArgumentError("text is longer than 2^31 - 1 bytes");
  UErrorCode code = U_ZERO_ERROR;
  int32_t units = 0;
  u_strFromUTF8(nullptr, 0, &units, text.data(), static_cast<int32_t>(text.size()), &code);
  if (code == U_INVALID_CHAR_FOUND) return absl::InvalidArgumentError("text is not UTF-8");
  return UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

std::string WriteUtf8(const UnicodeString& text) {
  std::string bytes;
  text.toUTF8String(bytes);
  return bytes;
}

// NFKC, then NFD.
absl::StatusOr<UnicodeString> Decompose(const UnicodeString& text) {
  UErrorCode code = U_ZERO_ERROR;
  const Normalizer2* nfkc = Normalizer2::getNFKCInstance(code);
  const Normalizer2* nfd = Normalizer2::getNFDInstance(code);
  if (U_FAILURE(code)) return IcuError("normalisation data", code);
  const UnicodeString decomposed = nfd->normalize(nfkc->normalize(text, code), code);
  if (U_FAILURE(code)) return IcuError("normalisation", code);
  return decomposed;
}

// Lowercases one code point by the full mapping, alone: a capital sigma never becomes a final sigma.
void AppendLower(UChar32 point, UnicodeString& out) {
  UnicodeString lower(point);
  out.append(lower.toLower(icu::Locale::getRoot()));
}

UnicodeString DropMarksAndLower(const UnicodeString& text) {
  UnicodeString out;
  for (int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1)) {
    const UChar32 point = text.char32At(at);
    if ((U_GET_GC_MASK(point) & U_GC_M_MASK) == 0) AppendLower(point, out);
  }
  return out;
}

UnicodeString CollapseSpaces(const UnicodeString& text) {
  UnicodeString out;
  bool in_run = false;
  for (int32_t at = 0; at < text.length(); ++at) {
    const char16_t unit = text[at];
    const bool space = unit == u' ' || unit == u'\t' || unit == u'\r' || unit == u'\n';
    if (!space) out.append(unit);
    if (space && !in_run) out.append(u' ');
    in_run = space;
  }
  return out;
}

// Every white space character is one UTF-16 unit.
UnicodeString Strip(const UnicodeString& text) {
  int32_t begin = 0;
  int32_t end = text.length();
  while (begin < end && u_isUWhiteSpace(text[begin])) ++begin;
  while (begin < end && u_isUWhiteSpace(text[end - 1])) --end;
  return text.tempSubString(begin, end - begin);
}

}  // namespace

absl::StatusOr<std::string> NormalizedKey(const TokenText& token) {
  const absl::StatusOr<UnicodeString> text = ReadUtf8(token.text);
  if (!text.ok()) return text.status();
  if (text->indexOf(u'\uFFFD') >= 0) return token.raw;
  const absl::StatusOr<UnicodeString> decomposed = Decompose(*text);
  if (!decomposed.ok()) return decomposed.status();
  const UnicodeString collapsed = CollapseSpaces(DropMarksAndLower(*decomposed));
  if (collapsed == UnicodeString(u' ')) return std::string(" ");
  const std::string key = WriteUtf8(Strip(collapsed));
  return key.empty() ? token.text : key;
}

absl::StatusOr<std::vector<int32_t>> DeriveTokenMap(const std::vector<TokenText>& tokens) {
  std::unordered_map<std::string, int32_t> ids;
  std::vector<int32_t> token_map;
  token_map.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    absl::StatusOr<std::string> key = NormalizedKey(tokens[i]);
    if (!key.ok()) {
      return absl::Status(key.status().code(), absl::StrCat("token ", i, ": ", key.status().message()));
    }
    const int32_t next = static_cast<int32_t>(ids.size());
    token_map.push_back(ids.try_emplace(*std::move(key), next).first->second);
  }
  return token_map;
}

}  // namespace engram
