// NaNs of any kind become the one: every bf16 at every place of a word.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "model/number_formats.h"
#include "tests/gpu/kernel_fixture.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CanonicalNan : public KernelTest {
 protected:
  std::vector<uint16_t> Run(const std::vector<uint16_t>& values) {
    const Output out = MakeOutput(values.size() * sizeof(uint16_t));
    Overwrite(out.data, values.data(), out.bytes);
    CanonicalNanArgs args;
    args.values = reinterpret_cast<uint16_t*>(out.data);
    args.count = values.size();
    const absl::Status status = LaunchCanonicalNan(args, stream());
    EXPECT_TRUE(status.ok()) << status;
    const std::vector<uint8_t> bytes = Read(out);
    std::vector<uint16_t> result;
    for (size_t i = 0; i < bytes.size(); i += 2) result.push_back(static_cast<uint16_t>(bytes[i] | bytes[i + 1] << 8));
    return result;
  }
};

TEST_F(CanonicalNan, LiteralKnownAnswers) {
  EXPECT_THAT(Run({0x7FC0, 0x7F81, 0xFFFF, 0x7FFF, 0xFFC0, 0xFF81, 0x7FBF, 0xFFBF}),
              ElementsAre(0x7FC0, 0x7FC0, 0x7FC0, 0x7FC0, 0x7FC0, 0x7FC0, 0x7FC0, 0x7FC0));
  EXPECT_THAT(Run({0x7F80, 0xFF80, 0x7F7F, 0xFF7F, 0x0000, 0x8000, 0x3F80, 0x0001}),
              ElementsAre(0x7F80, 0xFF80, 0x7F7F, 0xFF7F, 0x0000, 0x8000, 0x3F80, 0x0001));
  EXPECT_THAT(Run({0x7FFF, 0x8000, 0xFFFF, 0x0000, 0x7F80, 0xFF81, 0xFF80, 0x7F81}),
              ElementsAre(0x7FC0, 0x8000, 0x7FC0, 0x0000, 0x7F80, 0x7FC0, 0xFF80, 0x7FC0));
}

TEST_F(CanonicalNan, AllValuesAtAllPlaces) {
  std::vector<uint16_t> values(65536);
  std::iota(values.begin(), values.end(), uint16_t{0});
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::vector<uint16_t> result = Run(values);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t wanted = std::isnan(Bf16ToFloat(values[i])) ? uint16_t{0x7FC0} : values[i];
      ASSERT_EQ(result[i], wanted) << values[i] << " at place " << i % 8;
    }
    std::rotate(values.begin(), values.begin() + 1, values.end());
  }
}

TEST_F(CanonicalNan, AnyCountOfWholeWords) {
  EXPECT_THAT(Run({}), ElementsAre());
  for (const size_t count : {8u, 16u, 2040u, 2048u, 2056u, 100000u}) {
    EXPECT_THAT(Run(std::vector<uint16_t>(count, 0xFFFF)), testing::Each(0x7FC0)) << count;
  }
}

TEST_F(CanonicalNan, RefusesWhatItsWordsCannotBe) {
  CanonicalNanArgs args;
  args.values = reinterpret_cast<uint16_t*>(MakeOutput(64).data);
  args.count = 12;
  EXPECT_THAT(LaunchCanonicalNan(args, stream()).ToString(), HasSubstr("count is 12; it must be a multiple of 8"));
  args.count = 8;
  args.values += 4;
  EXPECT_THAT(LaunchCanonicalNan(args, stream()).ToString(), HasSubstr("values must be at a multiple of 16 bytes"));
  args.values = nullptr;
  EXPECT_THAT(LaunchCanonicalNan(args, stream()).ToString(), HasSubstr("values must be at a multiple of 16 bytes"));
}

}  // namespace
}  // namespace engram
