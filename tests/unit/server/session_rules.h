// A store, and writes to it that must succeed or must not.

#ifndef ENGRAM_TESTS_UNIT_SERVER_SESSION_RULES_H_
#define ENGRAM_TESTS_UNIT_SERVER_SESSION_RULES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/session_store.h"
#include "tests/unit/server/session_fixture.h"

namespace engram {

class SessionRules : public ::testing::Test {
 protected:
  // A write that must succeed; its use ends at once.
  SessionWritten Do(uint64_t id, uint64_t start_pos, const Ids& ids, WriteOptions options = {}) {
    absl::StatusOr<SessionWritten> written = WriteTo(store_, id, start_pos, ids, std::move(options));
    EXPECT_TRUE(written.ok()) << written.status();
    if (!written.ok()) return {};
    written->use = SessionUse();
    return *std::move(written);
  }

  void Refused(const absl::StatusOr<SessionWritten>& written, absl::StatusCode code, const std::string& message) {
    EXPECT_EQ(written.status().code(), code) << written.status();
    EXPECT_THAT(std::string(written.status().message()), ::testing::HasSubstr(message));
  }

  SessionStore store_{SessionLimits{}, kLookback};
};

inline constexpr absl::StatusCode kPrecondition = absl::StatusCode::kFailedPrecondition;

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_SESSION_RULES_H_
