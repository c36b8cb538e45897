// What arrives on the streams of a SequentialRun, against what its model said.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/sim/answer_check.h"
#include "tests/sim/sequential_run.h"

namespace engram {

using Code = absl::StatusCode;

void SequentialRun::Settle() {
  server_.reactions().RunAll();
  for (Stream& stream : streams_) Take(stream);
}

void SequentialRun::Take(Stream& stream) {
  for (const v1::ServerMessage& message : stream.wire->Take()) {
    if (message.has_reply()) {
      TakeReply(stream, message.reply());
    } else {
      EXPECT_TRUE(message.has_welcome() && !std::exchange(stream.welcomed, true)) << message.ShortDebugString();
    }
  }
  if (!stream.wire->done()) return;
  EXPECT_EQ(stream.wire->status().code(), stream.end) << stream.wire->status();
  EXPECT_TRUE(stream.closing);
  EXPECT_EQ(stream.steps.size(), 0u) << "a stream ended before its steps";
  if (stream.is_private) model_.Forget(stream.client);
}

void SequentialRun::TakeReply(Stream& stream, const v1::StepReply& frame) {
  const auto found = stream.steps.find(frame.step_id());
  ASSERT_NE(found, stream.steps.end()) << "a frame of a step that has ended: " << frame.ShortDebugString();
  SentStep& step = found->second;
  step.frames.push_back(frame);
  step.owed_bytes -= std::min<uint64_t>(step.owed_bytes, PayloadOf(frame).size());
  if (!frame.last()) return;
  Answered(step);
  if (step.under_way) ProtocolModel::End(step.answer);
  stream.steps.erase(found);
}

void SequentialRun::Answered(const SentStep& step) {
  const Code code = AnswerCode(step);
  EXPECT_EQ(WrongWith(step.frames, sim_, step.request, step.answer, code), "");
  ++step_codes[code];
  for (const ModelSegment& segment : step.answer.segments) ++segment_codes[segment.code];
}

// How the step ends where it is not decided yet: with its rows, unless one of them cannot be read.
absl::StatusCode SequentialRun::AnswerCode(const SentStep& step) const {
  if (step.fate) return *step.fate;
  if (step.request.format() == v1::ROW_FORMAT_HASH_IDS) return step.answer.code;
  for (const ModelToken& token : step.answer.tokens) {
    for (const uint64_t row : token.row_ids) {
      if (IsBadRow(server_.faults.bad_rows, row)) return Code::kDataLoss;
    }
  }
  return step.answer.code;
}

void SequentialRun::EndUnderWay(Stream& stream) {
  if (!stream.held) {
    EXPECT_EQ(stream.steps.size(), 0u) << "not answered: " << stream.steps.begin()->second.request.ShortDebugString();
  }
  for (auto& [id, step] : stream.steps) {
    if (!std::exchange(step.under_way, false)) continue;
    step.fate = AnswerCode(step);
    ProtocolModel::End(step.answer);
  }
}

}  // namespace engram
