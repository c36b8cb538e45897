// Writes: what is refused, what a write makes of a session, and what it answers.

#include "server/session_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

using Kind = SessionSeed::Kind;

std::string KnownHistory(const History& history) {
  return absl::StrCat("known history [", history.base(), ", ", history.length(), ")");
}

// The last `count` ids of `before` followed by `after`.
std::vector<int32_t> LastOf(const std::vector<int32_t>& before, absl::Span<const int32_t> after, size_t count) {
  const size_t from_after = std::min(count, after.size());
  const size_t from_before = count - from_after;
  std::vector<int32_t> ids(before.end() - static_cast<ptrdiff_t>(from_before), before.end());
  ids.insert(ids.end(), after.end() - static_cast<ptrdiff_t>(from_after), after.end());
  return ids;
}

// Whether a session whose history is `known` (null: an unknown session) goes on at the write's start_pos.
absl::Status CheckContinues(const SessionWrite& write, uint64_t lookback_begin, const History* known) {
  const uint64_t position = write.start_pos;
  const uint64_t id = write.key.session_id;
  if (known == nullptr && position > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("start_pos = ", position, ": session ", id,
                     " is unknown (never written, closed, or evicted) and has length 0: give a seed"));
  }
  if (known == nullptr || position == 0) return absl::OkStatus();
  if (position > known->length()) {
    return absl::FailedPreconditionError(absl::StrCat("start_pos = ", position, ": beyond the length ", known->length(),
                                                      " of session ", id, " (", KnownHistory(*known), ")"));
  }
  if (!known->Knows(lookback_begin, position)) {
    return absl::FailedPreconditionError(absl::StrCat("start_pos = ", position, ": look-back needs position ",
                                                      lookback_begin, ", before the ", KnownHistory(*known),
                                                      " of session ", id, ": give a seed"));
  }
  return absl::OkStatus();
}

absl::Status CheckFork(const SessionWrite& write, uint64_t lookback_begin, const History* source) {
  const uint64_t position = write.start_pos;
  const uint64_t id = write.seed.fork_from.session_id;
  if (source == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("fork_from.session_id = ", id, ": unknown (never written, closed, or evicted)"));
  }
  if (position > source->length()) {
    return absl::FailedPreconditionError(absl::StrCat("fork_from.position = ", position, ": beyond the length ",
                                                      source->length(), " of session ", id, " (", KnownHistory(*source),
                                                      ")"));
  }
  if (!source->Knows(lookback_begin, position)) {
    return absl::FailedPreconditionError(absl::StrCat("fork_from.position = ", position, ": look-back needs position ",
                                                      lookback_begin, ", before the ", KnownHistory(*source),
                                                      " of session ", id));
  }
  return absl::OkStatus();
}

absl::Status CheckStream(const Session& session, uint64_t stream_id) {
  if (session.steps_in_flight == 0 || session.stream_id == stream_id) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("session ", session.id, " has ", session.steps_in_flight, " step(s) in flight on another stream"));
}

}  // namespace

absl::Status SessionStore::State::CheckWritable(const SessionWrite& write, const Session* target) const {
  if (target != nullptr) {
    if (absl::Status status = CheckStream(*target, write.stream_id); !status.ok()) return status;
  }
  const uint64_t end = write.start_pos + write.ids.size();
  if (end <= limits.tokens_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("start_pos + tokens = ", end, ": a session holds at most ",
                                                   limits.tokens_max, " positions (session_tokens_max)"));
}

absl::StatusOr<std::shared_ptr<Session>> SessionStore::State::ForkSource(const SessionWrite& write) {
  std::shared_ptr<Session> source = Find(write.seed.fork_from);
  const History* known = source == nullptr ? nullptr : &source->history;
  if (absl::Status status = CheckFork(write, LookbackBegin(write.start_pos), known); !status.ok()) return status;
  if (source->idle) {  // reading is using
    Unlist(*source);
    Enlist(*source);
  }
  return source;
}

absl::StatusOr<SessionWritten> SessionStore::State::Stateless(const SessionWrite& write) {
  const uint64_t begin = LookbackBegin(write.start_pos);
  const size_t lookback = static_cast<size_t>(write.start_pos - begin);
  SessionWritten written;
  written.length = write.start_pos + write.ids.size();
  if (write.seed.kind == Kind::kFork) {
    absl::StatusOr<std::shared_ptr<Session>> source = ForkSource(write);
    if (!source.ok()) return source.status();
    written.lookback = (*source)->history.Read(begin, write.start_pos);
  } else if (write.seed.kind == Kind::kIds) {
    written.lookback = LastOf(write.seed.ids, {}, lookback);
  } else if (write.start_pos > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "start_pos = ", write.start_pos, ": session_id 0 keeps no history (known history [0, 0)): give a seed"));
  }
  const size_t tail = static_cast<size_t>(std::min<uint64_t>(written.length, lookback_max));
  written.tail = LastOf(written.lookback, write.ids, tail);
  return written;
}

absl::StatusOr<SessionStore::State::Plan> SessionStore::State::MakePlan(const SessionWrite& write,
                                                                        const SessionSpace& space,
                                                                        const Session* target) {
  Plan plan{.fresh = History(space.budget.held)};
  const History* known = target == nullptr ? nullptr : &target->history;
  // At position 0 there is no history to keep or to share, whatever a session's base is.
  const bool starts_anew = write.start_pos == 0 && (known == nullptr || known->base() != 0);
  plan.replaces = known == nullptr || write.seed.kind != Kind::kNone || starts_anew;
  if (write.seed.kind == Kind::kNone) {
    if (absl::Status status = CheckContinues(write, LookbackBegin(write.start_pos), known); !status.ok()) return status;
  } else if (write.seed.kind == Kind::kIds) {
    plan.fresh.RestartAt(write.start_pos - write.seed.ids.size());
  } else {
    absl::StatusOr<std::shared_ptr<Session>> source = ForkSource(write);
    if (!source.ok()) return source.status();
    plan.replaces = source->get() != target || starts_anew;  // forking itself is an ordinary rewind
    if (plan.replaces && write.start_pos != 0) {
      plan.fresh = (*source)->history.ForkAt(write.start_pos, space.budget.held);
    }
  }
  if (plan.replaces) {
    plan.growth = plan.fresh.GrowthOf(plan.fresh.length(), write.seed.ids.size() + write.ids.size());
    plan.growth -= known == nullptr ? 0 : static_cast<int64_t>(known->OwnedBytes());
    plan.growth += known == nullptr ? static_cast<int64_t>(kSessionBytes) : 0;
    plan.growth_trimmed = plan.growth;
  } else {
    plan.trim = TrimPosition(write.start_pos);
    plan.growth = known->GrowthOf(write.start_pos, write.ids.size());
    plan.growth_trimmed = std::min(plan.growth, known->GrowthOf(write.start_pos, write.ids.size(), plan.trim));
  }
  return plan;
}

absl::StatusOr<SessionWritten> SessionStore::State::Write(const SessionWrite& write,
                                                          std::shared_ptr<Session>* written_session) {
  SessionSpace& space = EnterSpace(write.key.client);
  absl::StatusOr<SessionWritten> written = WriteIn(space, write, written_session);
  LeaveSpace(space);
  return written;
}

absl::StatusOr<SessionWritten> SessionStore::State::WriteIn(SessionSpace& space, const SessionWrite& write,
                                                            std::shared_ptr<Session>* written_session) {
  std::shared_ptr<Session> target = Find(write.key);
  if (absl::Status status = CheckWritable(write, target.get()); !status.ok()) return status;
  absl::StatusOr<Plan> plan = MakePlan(write, space, target.get());
  if (!plan.ok()) return plan.status();
  if (absl::Status status = MakeRoom(*plan, space, target.get()); !status.ok()) return status;

  // Nothing below can be refused.
  if (target == nullptr) target = Insert(write.key.session_id, space);
  Unlist(*target);
  History& history = target->history;
  if (plan->replaces) {
    history = History(space.budget.held);  // freed before its successor grows
    history = std::move(plan->fresh);
    history.WriteAt(history.length(), write.seed.ids);
  }
  history.WriteAt(write.start_pos, write.ids);
  ++target->steps_in_flight;
  target->stream_id = write.stream_id;

  SessionWritten written;
  written.length = history.length();
  written.lookback = history.Read(LookbackBegin(write.start_pos), write.start_pos);
  written.tail = history.Read(LookbackBegin(written.length), written.length);
  *written_session = std::move(target);
  return written;
}

absl::Status SessionStore::State::Close(const SessionKey& key, uint64_t stream_id) {
  const std::shared_ptr<Session> session = Find(key);
  if (session == nullptr) return absl::OkStatus();
  if (absl::Status status = CheckStream(*session, stream_id); !status.ok()) return status;
  Remove(*session);
  return absl::OkStatus();
}

}  // namespace engram
