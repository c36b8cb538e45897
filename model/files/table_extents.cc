#include "model/files/table_extents.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

// Bytes [begin, end) of a file.
struct Extent {
  std::string path;
  uint64_t begin;
  uint64_t end;
  std::string part;  // for messages
};

// Rows that interleave codes and scales are one extent.
void AddExtents(const TableFiles& table, uint32_t layer_id, std::vector<Extent>& extents) {
  const std::string layer = absl::StrCat(" of layer ", layer_id);
  const auto extent = [&](const StridedBytes& bytes, const std::string& part) {
    return Extent{bytes.path, bytes.offset, bytes.offset + table.rows * bytes.stride, part + layer};
  };
  if (table.codes.stride > table.codes.width) {
    extents.push_back(extent(table.codes, "the rows"));
  } else {
    extents.push_back(extent(table.codes, "the codes"));
    extents.push_back(extent(table.scales, "the scales"));
  }
}

}  // namespace

absl::Status CheckApart(const std::vector<TableFiles>& tables, const std::vector<uint32_t>& layer_ids) {
  std::vector<Extent> extents;
  for (size_t i = 0; i < tables.size(); ++i) AddExtents(tables[i], layer_ids[i], extents);
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::tie(a.path, a.begin, a.end) < std::tie(b.path, b.begin, b.end);
  });
  for (size_t i = 1; i < extents.size(); ++i) {
    const Extent& a = extents[i - 1];
    const Extent& b = extents[i];
    if (a.path != b.path || a.end <= b.begin) continue;
    return absl::InvalidArgumentError(absl::StrCat(a.path, ": ", a.part, ", bytes [", a.begin, ", ", a.end, "), and ",
                                                   b.part, ", bytes [", b.begin, ", ", b.end, "), overlap"));
  }
  return absl::OkStatus();
}

}  // namespace engram
