#include "client/tool/verify_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/client/golden_oracle.h"
#include "tests/unit/client/plain_service.h"

namespace engram {
namespace {

using testing::HasSubstr;

TEST(ReachServersTest, NamesBothOfTwoThatDiffer) {
  const Oracle tiny = OpenCase("tiny");
  const Oracle extremes = OpenCase("extremes");
  const PlainService one(tiny, {});
  const PlainService same(tiny, {});
  const PlainService other(extremes, {});
  const auto address = [](const PlainService& service) { return service.Description().address; };
  const auto servers = ReachServers({address(one), address(same)}, "bf16,packed", tiny.checkpoint());
  ASSERT_TRUE(servers.ok()) << servers.status();
  ASSERT_EQ(servers->size(), 2u);
  EXPECT_EQ((*servers)[1].address, address(same));
  EXPECT_THAT((*servers)[1].formats, testing::ElementsAre(v1::ROW_FORMAT_BF16, v1::ROW_FORMAT_PACKED));
  const absl::Status differ = ReachServers({address(one), address(other)}, "packed", tiny.checkpoint()).status();
  EXPECT_THAT(differ.message(), HasSubstr(address(one)));
  EXPECT_THAT(differ.message(), HasSubstr(address(other)));
  EXPECT_THAT(differ.message(), HasSubstr("constants_digest"));
  EXPECT_FALSE(ReachServers({address(other)}, "packed", tiny.checkpoint()).ok());
  EXPECT_FALSE(ReachServers({address(one)}, "fp4", tiny.checkpoint()).ok());
}

}  // namespace
}  // namespace engram
