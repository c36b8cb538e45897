// Segments that fork from other sessions, and the sessions this stream leaves for others to fork from.

#include <algorithm>
#include <memory>
#include <utility>

#include "client/tool/traffic.h"

namespace engram {
namespace {

constexpr size_t kPublishedMax = 8;
constexpr uint64_t kPathsMax = 6;
constexpr uint64_t kPathTokensMax = 8;

}  // namespace

// Half the time a session that any stream has finished, where there is one; else one of this stream.
std::optional<Traffic::ForkSource> Traffic::AnyForkSource(PlannedStep& step) {
  ForkSource source;
  SessionBoard::Entry published = board_ != nullptr && Chance(0.5) ? board_->Any(random_) : nullptr;
  if (published != nullptr) {
    source.session_id = published->session_id;
    source.client_id = published->client_id;
    source.live = {published->sequence, published->known_from, 0};
  } else {
    const auto idle = AnyIdle();
    if (idle == sessions_.end()) return std::nullopt;
    source.session_id = idle->first;
    source.client_id = options_.client_id;
    source.live = idle->second;
  }
  const uint64_t length = source.live.sequence.length();
  const uint64_t earliest = Earliest(source.live);
  if (earliest > length) return std::nullopt;
  source.start_pos = earliest + Below(length - earliest + 1);
  source.foreign = source.client_id != options_.client_id;
  if (!source.foreign && Chance(0.5)) source.client_id.clear();  // either way it is this client's
  if (published != nullptr) {
    step.reads.push_back(std::move(published));
  } else {
    used_.insert(source.session_id);  // written later in this step it would be another source
  }
  return source;
}

void Traffic::AddForked(PlannedStep& step, const ForkSource& source, uint64_t session_id, size_t tokens) {
  Live live = source.live;
  AddContinuation(step, live, session_id, source.start_pos, tokens);
  v1::ForkFrom& fork = *step.request.mutable_segments()->rbegin()->mutable_fork_from();
  fork.set_session_id(source.session_id);
  fork.set_position(source.start_pos);
  fork.set_client_id(source.client_id);
  Keep(session_id, std::move(live));
  ++counts_.forks;
  if (source.foreign) ++counts_.foreign_forks;
}

bool Traffic::AddFork(PlannedStep& step, uint64_t session_id, uint64_t budget) {
  const std::optional<ForkSource> source = options_.fork ? AnyForkSource(step) : std::nullopt;
  if (!source.has_value()) return false;
  AddForked(step, *source, session_id, ChunkTokens(std::min(budget, session_tokens_max_ - source->start_pos)));
  return true;
}

// Several drafts for one place: the session is read and stays as it is.
bool Traffic::AddTree(PlannedStep& step, uint64_t budget, uint64_t room) {
  const std::optional<ForkSource> source = AnyForkSource(step);
  if (!source.has_value()) return false;
  const uint64_t paths = std::min(room, 2 + Below(kPathsMax - 1));
  for (uint64_t i = 0; i < paths; ++i) {
    const uint64_t tokens = std::min(budget, 1 + Below(kPathTokensMax));
    budget -= tokens;
    AddForked(step, *source, 0, static_cast<size_t>(tokens));
  }
  ++counts_.trees;
  return true;
}

// No step after this one writes the session; its answer says that all writes were admitted.
void Traffic::Finish(PlannedStep& step, Sessions::iterator session) {
  auto& [session_id, live] = *session;
  step.finished.push_back(std::make_shared<PublishedSession>(
      PublishedSession{options_.client_id, session_id, std::move(live.sequence), live.known_from}));
}

void Traffic::WithdrawOld() {
  for (; published_.size() > kPublishedMax; published_.pop_front()) {
    board_->Withdraw(published_.front());
    withdrawn_.push_back(std::move(published_.front()));
  }
}

// Steps in flight hold what they read: once this stream alone holds a withdrawn session, nobody reads it any more.
void Traffic::CloseUnread(PlannedStep& step) {
  const auto unread = std::stable_partition(withdrawn_.begin(), withdrawn_.end(),
                                            [](const SessionBoard::Entry& entry) { return entry.use_count() > 1; });
  for (auto it = unread; it != withdrawn_.end(); ++it) step.request.add_close_sessions((*it)->session_id);
  withdrawn_.erase(unread, withdrawn_.end());
}

}  // namespace engram
