#include "model/digest.h"

#include "gtest/gtest.h"

namespace engram {
namespace {

// The literals are Python's hashlib.sha256 over the same bytes.
TEST(Digest, LiteralKnownAnswers) {
  EXPECT_EQ(HexOf(Digest().Finish()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Digest abc;
  abc.AddBytes("abc");
  EXPECT_EQ(HexOf(abc.Finish()), "ce91dc5eec0139adf091900d225971d6ad246a845bad791b5693a9d0d55dd391");
  Digest one;
  one.AddNumber(1);
  EXPECT_EQ(HexOf(one.Finish()), "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8");
}

TEST(Digest, FieldsDoNotRunTogether) {
  Digest left, right;
  left.AddBytes("ab");
  left.AddBytes("c");
  right.AddBytes("a");
  right.AddBytes("bc");
  const std::string digest = left.Finish();
  EXPECT_EQ(digest.size(), 32u);
  EXPECT_EQ(HexOf(digest), "43ee655579de01ca739b3f95c1c2d3f46d353b2c0df818064ea594506cdb2617");
  EXPECT_NE(digest, right.Finish());
}

TEST(HexOf, IsLowerCase) { EXPECT_EQ(HexOf(std::string("\x00\x7f\xab\xff", 4)), "007fabff"); }

}  // namespace
}  // namespace engram
