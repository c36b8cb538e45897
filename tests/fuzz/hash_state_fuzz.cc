// Fuzzes what opens a session elsewhere than at 0: Lookback, HashState and ForkFrom seeds at every position up to
// 2^64 - 1, among rollbacks, closes and steps in flight on other streams, against the oracle of the session tests.
//
// An input is a row of operations: see HashStateRun::Operation and hash_state_input.h.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/hash_state_input.h"
#include "tests/fuzz/seed_rules.h"
#include "tests/unit/server/session_oracle.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

constexpr uint64_t kTokensMax = 280;  // of a session: a bit more than one chunk of history
constexpr char kWho[4] = {'a', 'a', 'a', 'b'};
constexpr uint64_t kStreams[4] = {1, 1, 2, 3};

const TinyServer& Tiny() {
  static const TinyServer tiny;
  return tiny;
}

class HashStateRun {
 public:
  void Operation(FuzzInput& input) {
    const uint8_t what = input.Byte();
    const size_t who = what >> 2 & 3;
    const StepOrigin origin{kStreams[who], {kWho[who]}};
    if ((what & 0x80) != 0 && (what & 0x40) != 0) {
      ReleaseAll();
    } else if ((what & 0x80) != 0) {
      Close(origin, what % (kSessions + 1));
    } else {
      WriteOne(input, origin, what);
    }
    RequireAllAsExpected();
  }

  void End() {
    ReleaseAll();
    for (const std::string client : {"a", "b"}) store_.ForgetClient(client);
    ENGRAM_REQUIRE(store_.sessions() == 0 && store_.history_bytes() == 0, "nothing is left when all sessions are gone");
  }

 private:
  struct Held {
    Step step;
    std::shared_ptr<OracleSession> session;
  };

  void WriteOne(FuzzInput& input, const StepOrigin& origin, uint8_t what) {
    v1::Segment segment;
    segment.set_session_id(what % (kSessions + 1));
    const auto known = oracle_.Find({origin.client, segment.session_id()});
    ReadSegment(input, known == nullptr ? 0 : known->length(), what >> 4 & 3, segment);
    const uint64_t bytes_before = store_.history_bytes();
    OracleAnswer expected = Expect(segment, origin);
    Step step = AdmitOne(segment, origin);
    const v1::SegmentResult& result = step.results.at(0);
    ENGRAM_REQUIRE(result.code() == static_cast<int>(expected.code),
                   absl::StrCat("expected code ", static_cast<int>(expected.code), " for ", segment.DebugString(),
                                "got ", result.DebugString()));
    if (result.code() != 0) {
      ENGRAM_REQUIRE(!result.message().empty() && step.segments.empty(), "a refusal says why and has no tokens");
      ENGRAM_REQUIRE(store_.history_bytes() == bytes_before && step.reply_bytes == 0, "a refusal costs nothing");
      return;
    }
    RequireAccepted(step, segment, expected);
    if (expected.session != nullptr) held_.push_back({std::move(step), expected.session});
    if ((what & 0x40) == 0) ReleaseAll();
  }

  // What the rules of seeds, then those of sessions, say.
  OracleAnswer Expect(const v1::Segment& segment, const StepOrigin& origin) {
    SessionWrite write;
    write.key = {origin.client, segment.session_id()};
    write.start_pos = segment.start_pos();
    write.stream_id = origin.stream_id;
    Ids ids;
    const absl::StatusCode code = JudgeSegment(segment, origin.client, ids, write.seed);
    if (code != absl::StatusCode::kOk) return {.code = code};
    write.ids = ids;
    const auto found = oracle_.Find(write.key);
    const bool taken = found != nullptr && found->steps != 0 && found->stream != origin.stream_id;
    if (write.key.session_id != 0 && !taken && write.start_pos + ids.size() > kTokensMax) {
      return {.code = absl::StatusCode::kResourceExhausted};
    }
    return oracle_.Write(write);
  }

  Step AdmitOne(const v1::Segment& segment, const StepOrigin& origin) {
    v1::StepRequest request;
    *request.add_segments() = segment;
    request.set_return_states(true);
    absl::StatusOr<Step> step = admission_.Admit(origin, request, TinyServer::Room(), absl::UnixEpoch());
    ENGRAM_REQUIRE(step.ok(), step.status().ToString());
    return *std::move(step);
  }

  void RequireAccepted(const Step& step, const v1::Segment& segment, const OracleAnswer& expected) {
    const v1::HashState& state = step.results[0].state();
    ENGRAM_REQUIRE(step.results[0].length() == expected.length && state.position() == expected.length, "length");
    ENGRAM_REQUIRE(Ids(state.compressed_ids().begin(), state.compressed_ids().end()) == expected.tail,
                   "exported state");
    ENGRAM_REQUIRE(step.reply_bytes <= TinyServer::Room().bytes_free, "bytes owed keep their bound");
    if (segment.token_ids().empty()) return;
    const std::vector<int32_t>& window = step.segments.at(0).window;
    ENGRAM_REQUIRE(Ids(window.begin(), window.end() - segment.token_ids_size()) == expected.lookback,
                   "captured look-back");
    RequireImports(state);
  }

  // The exported state seeds a stateless segment with the same look-back.
  void RequireImports(const v1::HashState& state) {
    v1::Segment segment;
    segment.set_start_pos(state.position());
    *segment.mutable_state() = state;
    const Step empty = AdmitOne(segment, {9, "c"});
    ENGRAM_REQUIRE(empty.results[0].state().SerializeAsString() == state.SerializeAsString(),
                   "a state returns as it came");
    if (state.position() == std::numeric_limits<uint64_t>::max()) return;  // no position is left
    segment.add_token_ids(7);
    const std::vector<int32_t> window = AdmitOne(segment, {9, "c"}).segments.at(0).window;
    ENGRAM_REQUIRE(
        Ids(window.begin(), window.end() - 1) == Ids(state.compressed_ids().begin(), state.compressed_ids().end()),
        "look-back of an imported state");
  }

  void ReleaseAll() {
    for (Held& held : held_) --held.session->steps;
    held_.clear();
  }

  void Close(const StepOrigin& origin, uint64_t session_id) {
    if (session_id == 0) return;  // refused before it comes here
    const SessionKey key{origin.client, session_id};
    ENGRAM_REQUIRE(store_.Close(key, origin.stream_id).code() == oracle_.Close(key, origin.stream_id), "close");
  }

  // Every session is what the oracle has, seen by a stateless fork, which changes nothing.
  void RequireAllAsExpected() {
    for (const std::string client : {"a", "b"}) {
      for (uint64_t id = 1; id <= kSessions; ++id) {
        const auto known = oracle_.Find({client, id});
        SessionWrite probe;
        probe.start_pos = known == nullptr ? 0 : known->length();
        probe.seed.kind = SessionSeed::Kind::kFork;
        probe.seed.fork_from = {client, id};
        const absl::StatusOr<SessionWritten> read = store_.Write(probe);
        ENGRAM_REQUIRE(read.status().code() == oracle_.Write(probe).code, read.status().ToString());
        if (read.ok()) ENGRAM_REQUIRE(read->lookback == oracle_.Write(probe).lookback, "history of a session");
      }
    }
    ENGRAM_REQUIRE(store_.sessions() == oracle_.size(), "number of sessions");
    ENGRAM_REQUIRE(store_.history_bytes() <= SessionLimits().history_bytes_max, "history keeps its bound");
  }

  SessionStore store_{{.tokens_max = kTokensMax}, kLookback};
  const Admission admission_{Tiny().geometry, Tiny().constants, Tiny().model, store_};
  Oracle oracle_;
  std::vector<Held> held_;
};

}  // namespace
}  // namespace engram

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  engram::FuzzInput input(data, size);
  engram::HashStateRun run;
  while (!input.empty()) run.Operation(input);
  run.End();
  return 0;
}
