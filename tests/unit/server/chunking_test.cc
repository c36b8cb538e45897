// However a sequence is cut into segments, its windows hash alike.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/ngram_hash.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

using ::testing::SizeIs;

// What the hasher makes of the windows of one session, written in chunks; chunk sizes of nine tokens by the bits of
// `cuts`.
std::vector<uint64_t> HashInChunks(TinyServer& server, const std::string& mask, unsigned cuts, bool empty_between) {
  const NgramHasher hasher(server.geometry, server.constants);
  const uint32_t tokens[9] = {5, 31, 2, 2, 17, 39, 0, 8, 21};
  std::vector<uint64_t> hashed;
  for (uint32_t begin = 0; begin < 9;) {
    uint32_t end = begin + 1;
    while (end < 9 && (cuts >> (end - 1) & 1) == 0) ++end;
    v1::StepRequest request;
    v1::Segment& segment = *request.add_segments();
    segment.set_session_id(1 + cuts);
    segment.set_start_pos(begin);
    if (empty_between) Good(server.Admit(request));
    segment.mutable_token_ids()->Assign(tokens + begin, tokens + end);
    if (!mask.empty()) segment.set_token_mask(mask.substr(begin, end - begin));
    const Step step = Good(server.Admit(request));
    EXPECT_THAT(step.segments, SizeIs(1));
    for (size_t layer = 0; layer < 2; ++layer) {
      std::vector<uint64_t> ids((end - begin) * 6);
      hasher.Hash(layer, step.segments[0].window, step.segments[0].lookback, absl::MakeSpan(ids));
      hashed.resize(2 * 9 * 6);
      std::copy(ids.begin(), ids.end(), hashed.begin() + static_cast<ptrdiff_t>(layer * 54 + begin * 6));
    }
    begin = end;
  }
  return hashed;
}

TEST(Chunking, EverySplitOfASequenceHashesAlike) {
  const std::string masks[] = {"", std::string("\1\1\0\1\1\1\0\0\1", 9), std::string("\0\1\1\1\1\0\1\1\0", 9)};
  std::vector<std::vector<uint64_t>> whole;
  for (const std::string& mask : masks) {
    TinyServer server;
    whole.push_back(HashInChunks(server, mask, 0, false));
    for (unsigned cuts = 1; cuts < 256; ++cuts) {
      ASSERT_EQ(HashInChunks(server, mask, cuts, cuts % 2 == 0), whole.back()) << "cuts " << cuts;
    }
  }
  EXPECT_NE(whole[0], whole[1]);
  EXPECT_NE(whole[1], whole[2]);
}

TEST(Chunking, RewoundTokensHashAlike) {
  TinyServer server;
  const std::vector<uint64_t> once = HashInChunks(server, "", 0, false);
  Good(server.Admit(
      Request("segments { session_id: 1 start_pos: 4 token_ids: [1, 1, 1, 1, 1, 1] }")));  // refused drafts
  const Step again =
      Good(server.Admit(Request("segments { session_id: 1 start_pos: 4 token_ids: [17, 39, 0, 8, 21] }")));
  std::vector<uint64_t> ids(5 * 6);
  NgramHasher(server.geometry, server.constants).Hash(0, again.segments[0].window, 3, absl::MakeSpan(ids));
  EXPECT_EQ(ids, std::vector<uint64_t>(once.begin() + 4 * 6, once.begin() + 9 * 6));
}

}  // namespace
}  // namespace engram
