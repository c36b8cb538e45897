#include "client/row_index.h"

#include "absl/strings/str_cat.h"

namespace engram {

std::string FaultOfRowIndex(absl::Span<const uint32_t> index, uint64_t unique) {
  uint64_t named = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] > named || index[i] >= unique) {
      return absl::StrCat("row_index[", i, "] = ", index[i], ", ", named, " of ", unique, " rows are named before it");
    }
    if (index[i] == named) ++named;
  }
  return named == unique ? "" : absl::StrCat("row_index names ", named, " of ", unique, " rows");
}

}  // namespace engram
