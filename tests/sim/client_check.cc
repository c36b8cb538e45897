// The steps of a stream that is done, replayed in order through the protocol model.

#include <gtest/gtest.h>

#include "tests/sim/answer_check.h"
#include "tests/sim/client_run.h"

namespace engram {

using Code = absl::StatusCode;

// Steps are read in order and those admitted are answered before the stream ends, unless it was cut.
bool ClientRun::Check(const Stream& stream) {
  const absl::Status status = stream.wire->status();
  const bool cut = stream.cancelled && status.code() == Code::kCancelled;
  const bool outage = options_.outage && absl::IsUnavailable(status);
  EXPECT_TRUE(status.ok() || cut || outage) << status;
  EXPECT_TRUE(!outage || stream.drain_heard || stream.frames.empty()) << "ended without Drain";
  for (const auto& [id, frames] : stream.frames) EXPECT_EQ(stream.sent.count(id), 1u) << "a frame of no step";
  bool read = true;
  for (const auto& [id, request] : stream.sent) {
    const bool answered = stream.frames.count(id) > 0;
    if (!answered) {
      EXPECT_FALSE(status.ok()) << "step " << id << " is not answered: " << request.ShortDebugString();
      read = false;
    } else if (read) {
      EXPECT_EQ(WrongWithStep(stream, request), "");
    } else {
      EXPECT_TRUE(cut) << "step " << id << " is answered, one before it is not";
    }
  }
  return status.ok();
}

std::string ClientRun::WrongWithStep(const Stream& stream, const v1::StepRequest& request) {
  const std::vector<v1::StepReply>& frames = stream.frames.at(request.step_id());
  const auto code = static_cast<Code>(frames.back().code());
  const bool refused = frames.front().last() && frames.front().results().empty();
  if (!refused && stream.sent_after_drain.count(request.step_id()) > 0) return "a step was taken after Drain";
  ModelAnswer expected;
  if (refused && code == Code::kUnavailable) {
    if (!options_.outage) return "refused with UNAVAILABLE";
    expected.code = code;
  } else {
    const ModelRoom room{.step = !(refused && code == Code::kResourceExhausted)};
    expected = model_.Admit(stream.client, kModelStream, request, room);
  }
  ProtocolModel::End(expected);
  if (stream.cancelled && !frames.back().last()) return WrongWithPart(frames, sim_, request, expected);
  ++step_codes[code];
  if (!IsAllowed(stream, request, expected, code)) {
    return absl::StrCat("code ", frames.back().code(), ": ", frames.back().message());
  }
  return WrongWith(frames, sim_, request, expected, code);
}

bool ClientRun::IsAllowed(const Stream& stream, const v1::StepRequest& request, const ModelAnswer& expected,
                          absl::StatusCode code) const {
  if (code == expected.code || !expected.admitted) return code == expected.code;
  if (code == Code::kCancelled) return stream.cancelled_steps.count(request.step_id()) > 0;
  if (code == Code::kDeadlineExceeded) return request.timeout_ms() > 0;
  if (code == Code::kDataLoss) return server_.faults.bad_rows > 0;
  return code == Code::kUnavailable && options_.outage;
}

}  // namespace engram
