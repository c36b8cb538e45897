#include "shard/numa_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "shard/anonymous_memory.h"
#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NodesOfThisThread, ComeFromTheFoldersOfItsProcessors) {
  const TempFolder folder;
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    last = cpu;
    std::filesystem::create_directories(folder / absl::StrCat("cpu", cpu, "/node3"));
  }
  std::filesystem::create_directories(folder / absl::StrCat("cpu", last, "/node12"));
  std::filesystem::create_directories(folder / absl::StrCat("cpu", last, "/nodes"));
  std::filesystem::create_directories(folder / absl::StrCat("cpu", last, "/node9999999"));
  EXPECT_THAT(NodesOfThisThread(folder / ""), ElementsAre(3, 12));
  EXPECT_THAT(NodesOfThisThread(folder / "nowhere"), IsEmpty());
}

TEST(InterleaveOver, IsThePolicyOfThatMemoryAlone) {
  auto memory = AnonymousMemory::Allocate(uint64_t{1} << 22, "test");
  auto other = AnonymousMemory::Allocate(uint64_t{1} << 22, "test");
  ASSERT_EQ(memory.status(), absl::OkStatus());
  ASSERT_EQ(other.status(), absl::OkStatus());
  if (!InterleaveOver({0}, {memory->data(), memory->size()})) GTEST_SKIP() << "the system has no mbind, or forbids it";
  int policy = -1;
  ASSERT_EQ(syscall(SYS_get_mempolicy, &policy, nullptr, 0, memory->data() + (1 << 21), MPOL_F_ADDR), 0);
  EXPECT_EQ(policy, MPOL_INTERLEAVE);
  ASSERT_EQ(syscall(SYS_get_mempolicy, &policy, nullptr, 0, other->data(), MPOL_F_ADDR), 0);
  EXPECT_EQ(policy, MPOL_DEFAULT);
  memory->data()[12345] = std::byte{7};
  EXPECT_EQ(memory->data()[12345], std::byte{7});
}

TEST(InterleaveOver, SaysThatANodeIsMissing) {
  auto memory = AnonymousMemory::Allocate(4096, "test");
  ASSERT_EQ(memory.status(), absl::OkStatus());
  if (std::filesystem::exists("/sys/devices/system/node/node1023")) GTEST_SKIP() << "there is a node 1023";
  EXPECT_FALSE(InterleaveOver({1023}, {memory->data(), memory->size()}));
}

}  // namespace
}  // namespace engram
