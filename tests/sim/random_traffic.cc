#include "tests/sim/random_traffic.h"

#include <algorithm>

namespace engram {
namespace {

constexpr uint64_t kLookback = 3;

}  // namespace

v1::StepRequest RandomTraffic::Step(const ProtocolModel& known, const std::string& client, uint64_t step_id) {
  v1::StepRequest step;
  step.set_step_id(step_id);
  const uint64_t segments = OneIn(3) ? 1 + Pick(4) : 1;
  for (uint64_t i = 0; i < segments; ++i) FillSegment(known, client, *step.add_segments());
  step.set_format(static_cast<v1::RowFormat>(Pick(3)));
  step.set_omit_masked_rows(OneIn(3));
  step.set_unique_rows(step.format() != v1::ROW_FORMAT_HASH_IDS && OneIn(2));
  step.set_return_states(OneIn(3));
  if (OneIn(3)) step.add_layers(OneIn(2) ? 1 : 14);
  if (OneIn(8)) step.add_close_sessions(1 + Pick(options_.sessions));
  if (OneIn(10)) step.set_table_version(sim_.model.table_version());
  if (options_.timeouts && OneIn(8)) step.set_timeout_ms(1 + static_cast<uint32_t>(Pick(options_.timeout_ms_max)));
  if (OneIn(12)) SpoilStep(step);
  return step;
}

void RandomTraffic::FillSegment(const ProtocolModel& known, const std::string& client, v1::Segment& segment) {
  segment.set_session_id(OneIn(10) ? 0 : 1 + Pick(options_.sessions));
  const uint64_t tokens = OneIn(6) ? Pick(20) : Pick(4);
  for (uint64_t i = 0; i < tokens; ++i) segment.add_token_ids(Token());
  if (OneIn(4)) segment.set_token_mask(Mask(segment.token_ids_size()));
  const ModelSession* session = known.Find(client, segment.session_id());
  const uint64_t length = session == nullptr ? 0 : session->length();
  segment.set_start_pos(length);
  if (OneIn(6)) segment.set_start_pos(length - std::min(length, Pick(8)));  // rejected drafts
  if (OneIn(25)) segment.set_start_pos(Pick(length + 3));
  if (length > 500) segment.set_start_pos(0);  // a new sequence under an old name
  if (OneIn(6)) Seed(known, client, segment);
  if (OneIn(12)) SpoilSegment(segment);
}

void RandomTraffic::Seed(const ProtocolModel& known, const std::string& client, v1::Segment& segment) {
  const uint64_t kind = Pick(4);
  if (kind == 0) SeedLookback(segment);
  if (kind == 1) SeedState(segment);
  if (kind > 1) SeedFork(known, client, segment);
}

void RandomTraffic::SeedLookback(v1::Segment& segment) {
  segment.set_start_pos(Pick(OneIn(2) ? 6 : 100));
  const uint64_t least = std::min(segment.start_pos(), kLookback);
  const uint64_t count = OneIn(12) ? Pick(70) : least + Pick(std::min<uint64_t>(segment.start_pos() - least, 9) + 1);
  v1::Lookback& lookback = *segment.mutable_lookback();
  for (uint64_t i = 0; i < count; ++i) lookback.add_token_ids(Token());
  if (OneIn(3)) lookback.set_token_mask(Mask(lookback.token_ids_size()));
  if (OneIn(20)) lookback.add_token_ids(sim_.geometry().vocab_size);
}

void RandomTraffic::SeedState(v1::Segment& segment) {
  segment.set_start_pos(Pick(OneIn(2) ? 6 : 100));
  v1::HashState& state = *segment.mutable_state();
  state.set_position(segment.start_pos() + (OneIn(15) ? 1 : 0));
  state.set_constants_digest(OneIn(15) ? "another" : sim_.model.constants_digest());
  const uint64_t count = OneIn(15) ? Pick(5) : std::min(segment.start_pos(), kLookback);
  for (uint64_t i = 0; i < count; ++i) state.add_compressed_ids(static_cast<int32_t>(Pick(21)) - 1);
  if (OneIn(15) && count > 0) state.set_compressed_ids(0, OneIn(2) ? 20 : -2);
}

void RandomTraffic::SeedFork(const ProtocolModel& known, const std::string& client, v1::Segment& segment) {
  v1::ForkFrom& fork = *segment.mutable_fork_from();
  fork.set_session_id(1 + Pick(options_.sessions));
  if (OneIn(3)) fork.set_client_id(kSharedClient);
  if (OneIn(30)) fork.set_client_id(std::string(257, 'x'));
  if (OneIn(30)) fork.set_session_id(0);
  const ModelSession* source = known.Find(fork.client_id().empty() ? client : fork.client_id(), fork.session_id());
  const uint64_t length = source == nullptr ? 0 : source->length();
  fork.set_position(OneIn(2) ? length : Pick(length + 2));
  segment.set_start_pos(fork.position() + (OneIn(20) ? 1 : 0));
}

void RandomTraffic::SpoilSegment(v1::Segment& segment) {
  switch (Pick(5)) {
    case 0:
      return segment.add_token_ids(sim_.geometry().vocab_size + static_cast<uint32_t>(Pick(3)));
    case 1:
      return segment.set_token_mask(std::string(static_cast<size_t>(segment.token_ids_size()) + 1, '\1'));
    case 2:
      return segment.set_token_mask(std::string(static_cast<size_t>(segment.token_ids_size()), '\2'));
    case 3:
      return segment.set_start_pos(~uint64_t{0} - Pick(2));
    default:
      return segment.set_start_pos(segment.start_pos() + 1 + Pick(1000));
  }
}

void RandomTraffic::SpoilStep(v1::StepRequest& step) {
  switch (Pick(7)) {
    case 0:
      return step.set_format(static_cast<v1::RowFormat>(3 + Pick(3)));
    case 1:
      return step.add_layers(OneIn(2) ? 2 : 1);
    case 2:
      return step.set_table_version(99);
    case 3:
      while (step.segments_size() <= 5) *step.add_segments() = step.segments(0);
      return;
    case 4:
      while (step.segments(0).token_ids_size() <= 60) step.mutable_segments(0)->add_token_ids(Token());
      return;
    case 5:
      return step.add_close_sessions(0);
    default:
      while (step.close_sessions_size() <= 5) step.add_close_sessions(1 + Pick(options_.sessions));
      return;
  }
}

std::string RandomTraffic::Mask(int tokens) {
  std::string mask(static_cast<size_t>(tokens), '\1');
  for (char& m : mask) m = OneIn(3) ? '\0' : '\1';
  return mask;
}

}  // namespace engram
