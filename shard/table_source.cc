#include "shard/table_source.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"

namespace engram {
namespace {

absl::StatusOr<RowStream> OpenStream(const StridedBytes& bytes, ShardRange range, uint32_t width_wanted) {
  if (bytes.width != width_wanted || bytes.stride < bytes.width) {
    return absl::FailedPreconditionError(absl::StrCat(bytes.path, ": rows of ", bytes.width, " bytes every ",
                                                      bytes.stride, ", the geometry wants ", width_wanted));
  }
  absl::StatusOr<File> file = File::Open(bytes.path);
  if (!file.ok()) return file.status();
  if (range.begin == range.end) return RowStream{*std::move(file), bytes.offset, bytes.stride, bytes.width};
  const uint64_t last = range.end - 1;
  uint64_t end = 0;
  if (__builtin_mul_overflow(last, bytes.stride, &end) || __builtin_add_overflow(end, bytes.offset, &end) ||
      __builtin_add_overflow(end, uint64_t{bytes.width}, &end) || end > file->size()) {
    return absl::DataLossError(absl::StrCat(bytes.path, ": row ", last, " (offset ", bytes.offset, ", stride ",
                                            bytes.stride, ") ends behind the file's ", file->size(), " bytes"));
  }
  return RowStream{*std::move(file), bytes.offset, bytes.stride, bytes.width};
}

}  // namespace

absl::StatusOr<TableSource> TableSource::Open(const TableFiles& files, ShardRange range, uint32_t head_dim) {
  if (range.begin > range.end || range.end > files.rows) {
    return absl::FailedPreconditionError(
        absl::StrCat("rows [", range.begin, ", ", range.end, ") of a table of ", files.rows, " rows"));
  }
  absl::StatusOr<RowStream> codes = OpenStream(files.codes, range, head_dim);
  if (!codes.ok()) return codes.status();
  absl::StatusOr<RowStream> scales = OpenStream(files.scales, range, head_dim / kScaleBlock);
  if (!scales.ok()) return scales.status();
  return TableSource{*std::move(codes), *std::move(scales)};
}

bool TableSource::IsPacked() const {
  return codes.file.path() == scales.file.path() && scales.offset == codes.offset + codes.width &&
         codes.stride == scales.stride && codes.stride == uint64_t{codes.width} + scales.width;
}

absl::Status TableSource::CheckUnchanged() {
  absl::Status status = codes.file.CheckUnchanged();
  status.Update(scales.file.CheckUnchanged());
  // A file that cannot even be asked (a stale network handle) is lost just so.
  return status.ok() ? status : absl::DataLossError(status.message());
}

}  // namespace engram
