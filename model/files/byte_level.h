// The byte-level alphabet of GPT-2 style vocabularies: each byte is written as one printable character.

#ifndef ENGRAM_MODEL_FILES_BYTE_LEVEL_H_
#define ENGRAM_MODEL_FILES_BYTE_LEVEL_H_

#include <string>

namespace engram {

// Bytes 33..126, 161..172 and 174..255 stand for themselves (as code points); the 68 others are U+0100..U+0143 in
// order. `token` is valid UTF-8. Returns the bytes it stands for, or `token` itself when any character is not of the
// alphabet.
std::string ByteLevelBytes(const std::string& token);

// Bytes as UTF-8 text: each maximal part of an ill-formed sequence becomes one U+FFFD, as the Unicode standard
// recommends.
std::string LossyUtf8(const std::string& bytes);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_BYTE_LEVEL_H_
