// Sizes and names of GGUF value types.

#ifndef ENGRAM_MODEL_FILES_GGUF_TYPES_H_
#define ENGRAM_MODEL_FILES_GGUF_TYPES_H_

#include <cstdint>
#include <string>

#include "model/files/gguf.h"

namespace engram {

uint32_t GgufScalarBytes(GgufType type);  // 0 for strings, arrays and unknown types
bool IsGgufInteger(GgufType type);
std::string GgufTypeName(GgufType type);

}  // namespace engram

#endif  // ENGRAM_MODEL_FILES_GGUF_TYPES_H_
