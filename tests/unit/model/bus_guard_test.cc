// Bus errors inside and outside of a guarded body.

#include "model/bus_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace engram {
namespace {

constexpr size_t kPage = 4096;

TEST(BusGuard, ABodyThatMeetsNoneRunsToItsEnd) {
  int runs = 0;
  EXPECT_TRUE(RunGuardedFromBusError([&runs] { ++runs; }));
  EXPECT_EQ(runs, 1);
}

TEST(BusGuard, WritingPastTheEndOfAFileLeavesTheBodyEachTime) {
  const int file = memfd_create("bus_guard_test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, kPage), 0);
  void* const mapped = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const bytes = static_cast<char*>(mapped);
  for (int i = 0; i < 3; ++i) {  // the guard is armed anew
    volatile bool behind = false;
    EXPECT_FALSE(RunGuardedFromBusError([&] {
      std::memset(bytes + kPage, 7, kPage);
      behind = true;
    }));
    EXPECT_FALSE(behind);
    EXPECT_TRUE(RunGuardedFromBusError([&] { std::memset(bytes, 7, kPage); }));
    EXPECT_EQ(bytes[kPage - 1], 7);
  }
  munmap(mapped, 2 * kPage);
  close(file);
}

// Outside of a guarded body a bus error still ends the process.
TEST(BusGuard, OtherBusErrorsGoTheirOldWay) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have a handler of their own";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        RunGuardedFromBusError([] {});
        raise(SIGBUS);
        std::exit(0);
      },
      testing::KilledBySignal(SIGBUS), "");
}

void HandOver(int) { _exit(42); }

TEST(BusGuard, OtherBusErrorsReachTheHandlerThatWasThere) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, HandOver);
        RunGuardedFromBusError([] {});
        raise(SIGBUS);
        std::exit(0);
      },
      testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace engram
