#include "server/segment_check.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "model/digest.h"

namespace engram {
namespace {

absl::Status Invalid(const std::string& field, const std::string& value, const std::string& bound) {
  return absl::InvalidArgumentError(absl::StrCat(field, value.empty() ? "" : " = ", value, ": ", bound));
}

std::string At(const std::string& field, size_t index) { return absl::StrCat(field, "[", index, "]"); }

absl::Span<const uint32_t> SpanOf(const google::protobuf::RepeatedField<uint32_t>& field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

absl::Status CheckMask(const std::string& path, const std::string& mask, size_t tokens) {
  if (mask.empty()) return absl::OkStatus();
  const std::string field = absl::StrCat(path, ".token_mask");
  if (mask.size() != tokens) {
    return Invalid(field, "",
                   absl::StrCat(mask.size(), " bytes for ", tokens, " tokens: must be empty or one byte a token"));
  }
  for (size_t i = 0; i < mask.size(); ++i) {
    const auto value = static_cast<unsigned char>(mask[i]);
    if (value > 1) return Invalid(At(field, i), absl::StrCat(value), "must be 0 or 1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckClientId(const std::string& field, const std::string& client_id) {
  if (client_id.size() > kClientIdBytesMax) {
    return Invalid(field, "", absl::StrCat(client_id.size(), " bytes: must have at most ", kClientIdBytesMax));
  }
  if (!client_id.empty() && client_id.front() == kPrivateClientPrefix[0]) return Invalid(field, "", "must be UTF-8");
  return absl::OkStatus();
}

uint64_t SegmentCheck::LookbackAt(uint64_t position) const {
  return std::min<uint64_t>(position, geometry_.max_ngram_size - 1);
}

absl::Status SegmentCheck::Compress(const std::string& path, absl::Span<const uint32_t> tokens, const std::string& mask,
                                    absl::Span<int32_t> out) const {
  if (absl::Status status = CheckMask(path, mask, tokens.size()); !status.ok()) return status;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!mask.empty() && mask[i] == 0) {  // whatever its id
      out[i] = kDead;
      continue;
    }
    if (tokens[i] >= constants_.token_map.size()) {
      return Invalid(At(absl::StrCat(path, ".token_ids"), i), absl::StrCat(tokens[i]),
                     absl::StrCat("must be < vocab_size ", constants_.token_map.size()));
    }
    out[i] = constants_.token_map[tokens[i]];
  }
  return absl::OkStatus();
}

absl::Status SegmentCheck::Tokens(const std::string& path, const v1::Segment& segment, absl::Span<int32_t> out) const {
  const auto tokens = static_cast<uint64_t>(segment.token_ids_size());
  if (segment.start_pos() > std::numeric_limits<uint64_t>::max() - tokens) {
    return Invalid(absl::StrCat(path, ".start_pos"), absl::StrCat(segment.start_pos()),
                   absl::StrCat("with ", tokens, " tokens must stay below 2^64"));
  }
  return Compress(path, SpanOf(segment.token_ids()), segment.token_mask(), out);
}

absl::StatusOr<SessionSeed> SegmentCheck::SeedOf(const std::string& path, const v1::Lookback& lookback,
                                                 uint64_t start_pos) const {
  const auto tokens = static_cast<uint64_t>(lookback.token_ids_size());
  const std::string field = absl::StrCat(path, ".token_ids");
  if (tokens < LookbackAt(start_pos) || tokens > start_pos) {
    return Invalid(field, "",
                   absl::StrCat(tokens, " tokens: must be at least ", LookbackAt(start_pos), " and at most ", start_pos,
                                " (start_pos)"));
  }
  SessionSeed seed{.kind = SessionSeed::Kind::kIds, .ids = std::vector<int32_t>(tokens), .fork_from = {}};
  absl::Status status = Compress(path, SpanOf(lookback.token_ids()), lookback.token_mask(), absl::MakeSpan(seed.ids));
  if (!status.ok()) return status;
  return seed;
}

absl::StatusOr<SessionSeed> SegmentCheck::SeedOf(const std::string& path, const v1::HashState& state,
                                                 uint64_t start_pos) const {
  if (state.position() != start_pos) {
    return Invalid(absl::StrCat(path, ".position"), absl::StrCat(state.position()),
                   absl::StrCat("must equal start_pos ", start_pos));
  }
  if (state.constants_digest() != constants_digest_) {
    // A wrong length is shown as a length: the bytes may be anything.
    const std::string given = state.constants_digest().size() == constants_digest_.size()
                                  ? HexOf(state.constants_digest())
                                  : absl::StrCat(state.constants_digest().size(), " bytes");
    return absl::FailedPreconditionError(
        absl::StrCat(path, ".constants_digest = ", given, ": this server's is ", HexOf(constants_digest_)));
  }
  const auto count = static_cast<uint64_t>(state.compressed_ids_size());
  const std::string field = absl::StrCat(path, ".compressed_ids");
  if (count != LookbackAt(start_pos)) {
    return Invalid(field, "", absl::StrCat(count, " ids: must be ", LookbackAt(start_pos), " at position ", start_pos));
  }
  const auto classes = static_cast<int64_t>(geometry_.compressed_vocab_size);
  for (int i = 0; i < state.compressed_ids_size(); ++i) {
    const int32_t id = state.compressed_ids(i);
    if (id >= kDead && id < classes) continue;
    return Invalid(At(field, static_cast<size_t>(i)), absl::StrCat(id), absl::StrCat("must be in [-1, ", classes, ")"));
  }
  SessionSeed seed{.kind = SessionSeed::Kind::kIds, .ids = {}, .fork_from = {}};
  seed.ids.assign(state.compressed_ids().begin(), state.compressed_ids().end());
  return seed;
}

absl::StatusOr<SessionSeed> SegmentCheck::SeedOf(const std::string& path, const v1::ForkFrom& fork, uint64_t start_pos,
                                                 const std::string& client) const {
  if (fork.session_id() == 0) {
    return Invalid(absl::StrCat(path, ".session_id"), "0", "must name a session (0 is stateless)");
  }
  if (fork.position() != start_pos) {
    return Invalid(absl::StrCat(path, ".position"), absl::StrCat(fork.position()),
                   absl::StrCat("must equal start_pos ", start_pos));
  }
  if (absl::Status status = CheckClientId(absl::StrCat(path, ".client_id"), fork.client_id()); !status.ok()) {
    return status;
  }
  SessionSeed seed{.kind = SessionSeed::Kind::kFork, .ids = {}, .fork_from = {}};
  seed.fork_from = {.client = fork.client_id().empty() ? client : fork.client_id(), .session_id = fork.session_id()};
  return seed;
}

absl::StatusOr<SessionSeed> SegmentCheck::Seed(const std::string& path, const v1::Segment& segment,
                                               const std::string& client) const {
  switch (segment.seed_case()) {
    case v1::Segment::kLookback:
      return SeedOf(absl::StrCat(path, ".lookback"), segment.lookback(), segment.start_pos());
    case v1::Segment::kState:
      return SeedOf(absl::StrCat(path, ".state"), segment.state(), segment.start_pos());
    case v1::Segment::kForkFrom:
      return SeedOf(absl::StrCat(path, ".fork_from"), segment.fork_from(), segment.start_pos(), client);
    case v1::Segment::SEED_NOT_SET:
      break;
  }
  return SessionSeed{};
}

}  // namespace engram
