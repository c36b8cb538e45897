// Random appends, rewinds and forks of many sessions, several steps in flight, while servers die and come back. Every
// row id is compared with the unsplit sequence's.

#include <deque>
#include <random>

#include "tests/unit/client/resume_fixture.h"

namespace engram {
namespace {

struct RandomCase {
  const char* name;
  std::vector<std::string> overrides;
  size_t in_flight_max;
  int kill_every;  // steps; 0: never
  const char* client_id;
};

class ClientRandomTest : public testing::TestWithParam<RandomCase> {
 protected:
  static constexpr int kSteps = 600;
  static constexpr uint64_t kSessions = 6;

  struct Tracked {
    TrackedSession session;
    Sequence sequence;
  };
  struct Expected {
    StepFuture future;
    std::vector<std::vector<std::vector<uint64_t>>> row_ids;  // [segments][layers]
    std::vector<uint64_t> tokens;                             // [segments]
  };

  uint64_t Random(uint64_t below) { return random_() % below; }

  std::vector<uint32_t> RandomTokens() {
    std::vector<uint32_t> tokens(Random(8));
    for (uint32_t& token : tokens) token = static_cast<uint32_t>(Random(checkpoint_.geometry.vocab_size));
    return tokens;
  }

  // Rewinds a session, replaces it by a fork of another, or forgets all but a state.
  void Disturb(size_t index) {
    Tracked& tracked = sessions_[index];
    const TrackedSession& source = sessions_[Random(kSessions)].session;
    if (Random(4) == 0) {
      const uint64_t position = source.reach() + Random(source.position() - source.reach() + 1);
      Sequence sequence = sessions_[source.session_id() % kSessions].sequence;
      absl::StatusOr<TrackedSession> fork = source.Fork(next_id_ * kSessions + index, position);
      ASSERT_TRUE(fork.ok()) << fork.status();
      ++next_id_;
      sequence.RewindTo(position);
      tracked = {*std::move(fork), std::move(sequence)};
    } else if (Random(2) == 0) {
      const uint64_t reach = tracked.session.reach();
      const uint64_t position = reach + Random(tracked.session.position() - reach + 1);
      ASSERT_TRUE(tracked.session.RewindTo(position).ok());
      tracked.sequence.RewindTo(position);
    } else if (Random(5) == 0) {
      tracked.session.Seed(tracked.sequence.State());
    }
  }

  void Submit(Client& client) {
    TrackedStep step = HashStep();
    Expected expected{{nullptr, {}}, {}, {}};
    for (size_t index = Random(kSessions); index < kSessions; index += 1 + Random(3)) {
      Disturb(index);
      Tracked& tracked = sessions_[index];
      const std::vector<uint32_t> tokens = RandomTokens();
      std::vector<uint8_t> mask(Random(2) == 0 ? tokens.size() : 0);
      for (uint8_t& bit : mask) bit = Random(4) != 0;
      const uint64_t start = tracked.session.Append(step, tokens, mask);
      tracked.sequence.Append(tokens, mask);
      expected.row_ids.push_back(tracked.sequence.RowIds(start));
      expected.tokens.push_back(tokens.size());
    }
    absl::StatusOr<StepFuture> future = client.Submit(std::move(step));
    ASSERT_TRUE(future.ok()) << future.status();
    expected.future = *std::move(future);
    if (GetParam().in_flight_max > 1 && Random(20) == 0) {
      expected.future.Cancel();  // its tokens are history all the same
    } else {
      due_.push_back(std::move(expected));
    }
  }

  void CheckFirst() {
    Expected expected = std::move(due_.front());
    due_.pop_front();
    ASSERT_TRUE(expected.future.WaitFor(absl::Seconds(60)));
    const StepResult result = expected.future.Wait();
    ASSERT_TRUE(result.status.ok()) << result.status;
    uint64_t begin = 0;
    for (size_t i = 0; i < expected.tokens.size(); ++i) {
      ASSERT_TRUE(result.segment_status(i).ok()) << result.segment_status(i);
      ASSERT_EQ(RowIdsOf(checkpoint_.geometry, result, begin, expected.tokens[i]), expected.row_ids[i])
          << "step " << result.step_id << " segment " << i;
      begin += expected.tokens[i];
    }
  }

  const Checkpoint checkpoint_ = OpenTiny();
  const uint64_t seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
  std::vector<Tracked> sessions_;
  uint64_t next_id_ = 2;
  std::deque<Expected> due_;
};

TEST_P(ClientRandomTest, EveryRowIdIsThatOfTheUnsplitSequence) {
  SCOPED_TRACE(absl::StrCat("seed ", seed_));
  KillableServer servers[] = {KillableServer(GetParam().overrides), KillableServer(GetParam().overrides)};
  ClientOptions options = OptionsFor({servers[0].address(), servers[1].address()});
  options.client_id = GetParam().client_id;
  options.losses_max = 1000;
  const auto client = *Client::Create(options);
  for (uint64_t i = 0; i < kSessions; ++i) {
    sessions_.push_back({TrackedSession(kSessions + i, {.tokens_kept = 24, .lookback = 3}), Sequence(checkpoint_)});
  }
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    Submit(*client);
    while (due_.size() >= GetParam().in_flight_max && !HasFatalFailure()) CheckFirst();
    if (GetParam().kill_every != 0 && step % GetParam().kill_every == 0) {
      KillableServer& server = servers[Random(2)];
      server.Kill();
      server.Start();
    }
  }
  while (!due_.empty() && !HasFatalFailure()) CheckFirst();
}

INSTANTIATE_TEST_SUITE_P(
    All, ClientRandomTest,
    testing::Values(
        RandomCase{"ServersDie", {}, 12, 15, ""}, RandomCase{"ServersDieSharedName", {}, 12, 15, "replica-0"},
        RandomCase{"SessionsAreEvicted", {"sessions.sessions_max=6", "sessions.client_share_percent=100"}, 1, 50, ""},
        RandomCase{"StepsWaitForRoom", {"streams.steps_in_flight_max=2"}, 12, 0, ""}),
    [](const testing::TestParamInfo<RandomCase>& one) { return one.param.name; });

}  // namespace
}  // namespace engram
