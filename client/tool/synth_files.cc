#include "client/tool/synth_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/tool/synth_rows.h"
#include "model/geometry.h"

namespace engram {
namespace {

constexpr uint64_t kPieceBytes = 8 << 20;
constexpr uint64_t kProbeBytes = 64 << 20;

std::string_view Chars(const std::vector<uint8_t>& bytes, size_t count) {
  return {reinterpret_cast<const char*>(bytes.data()), count};
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status OutputFile::Failed(const char* what) const {
  const int error = errno;
  const std::string message = absl::StrCat(path_, ": ", what, ": ", std::strerror(error));
  if (error == EFBIG || error == EINVAL) return absl::UnimplementedError(message);
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(message);
  return absl::UnavailableError(message);
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile file(path, open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.descriptor_ < 0) return file.Failed("cannot be made");
  return file;
}

absl::Status OutputFile::Resize(uint64_t bytes) {
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    return Failed(absl::StrCat("cannot be made ", bytes, " bytes long").c_str());
  }
  return absl::OkStatus();
}

absl::Status OutputFile::WriteAt(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failed("cannot be written");
    offset += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Close() {
  if (close(std::exchange(descriptor_, -1)) != 0) return Failed("cannot be closed");
  return absl::OkStatus();
}

absl::Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  absl::StatusOr<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  if (absl::Status status = file->WriteAt(0, bytes); !status.ok()) return status;
  return file->Close();
}

absl::Status CheckHoles(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/.engram_hole_probe");
  absl::StatusOr<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  absl::Status status = file->Resize(kProbeBytes);
  if (status.ok()) status = file->WriteAt(kProbeBytes / 2, "x");
  if (status.ok()) status = file->Close();
  const absl::StatusOr<uint64_t> on_disk = DiskBytes(path);
  unlink(path.c_str());
  if (!status.ok()) return status;
  if (!on_disk.ok()) return on_disk.status();
  if (*on_disk > kProbeBytes / 4) {
    return absl::UnimplementedError(absl::StrCat("the file system of ", folder, " keeps no holes: a file of ",
                                                 kProbeBytes, " bytes with one byte written takes ", *on_disk));
  }
  return absl::OkStatus();
}

absl::StatusOr<SpaceOnDisk> SpaceOf(const std::string& folder) {
  struct statvfs space = {};
  if (statvfs(folder.c_str(), &space) != 0) {
    return absl::UnavailableError(absl::StrCat(folder, ": ", std::strerror(errno)));
  }
  // File systems may give out more than f_bsize at once; 4 KiB is what every common one can do.
  const uint64_t block = std::max<uint64_t>(4096, space.f_frsize);
  return SpaceOnDisk{static_cast<uint64_t>(space.f_bavail) * space.f_frsize, block};
}

absl::StatusOr<uint64_t> DiskBytes(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

absl::Status WriteAllRows(const SynthTableTarget& table, uint64_t rows) {
  const uint64_t width = table.head_dim;
  const uint64_t scales = width / kScaleBlock;
  const uint64_t rows_max = std::min(rows, std::max<uint64_t>(1, kPieceBytes / width));
  std::vector<uint8_t> codes(rows_max * width), scale_bytes(rows_max * scales);
  for (uint64_t begin = 0; begin < rows; begin += rows_max) {
    const uint64_t count = std::min(rows_max, rows - begin);
    for (uint64_t i = 0; i < count; ++i) {
      SynthRow(table.layer_key, begin + i, absl::MakeSpan(codes).subspan(i * width, width),
               absl::MakeSpan(scale_bytes).subspan(i * scales, scales));
    }
    absl::Status status = table.codes.WriteAt(table.codes_offset + begin * width, Chars(codes, count * width));
    if (!status.ok()) return status;
    status = table.scales.WriteAt(table.scales_offset + begin * scales, Chars(scale_bytes, count * scales));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WriteSomeRows(const SynthTableTarget& table, absl::Span<const uint64_t> ids) {
  std::vector<uint8_t> codes(table.head_dim), scales(table.head_dim / kScaleBlock);
  for (const uint64_t id : ids) {
    SynthRow(table.layer_key, id, absl::MakeSpan(codes), absl::MakeSpan(scales));
    absl::Status status = table.codes.WriteAt(table.codes_offset + id * codes.size(), Chars(codes, codes.size()));
    if (!status.ok()) return status;
  }
  // A second walk, not one write here and one there: either file then grows from front to back.
  for (const uint64_t id : ids) {
    SynthRow(table.layer_key, id, absl::MakeSpan(codes), absl::MakeSpan(scales));
    absl::Status status = table.scales.WriteAt(table.scales_offset + id * scales.size(), Chars(scales, scales.size()));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

uint64_t BlocksTouched(absl::Span<const uint64_t> ids, uint64_t offset, uint64_t width, uint64_t block_bytes) {
  uint64_t blocks = 0;
  uint64_t next = 0;  // the first block not counted yet
  for (const uint64_t id : ids) {
    const uint64_t first = std::max(next, (offset + id * width) / block_bytes);
    const uint64_t end = (offset + id * width + width - 1) / block_bytes + 1;
    if (end > first) blocks += end - first;
    next = std::max(next, end);
  }
  return blocks;
}

}  // namespace engram
