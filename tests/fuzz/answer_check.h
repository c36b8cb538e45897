// What a client of Stream may rely on, checked message by message.

#ifndef ENGRAM_TESTS_FUZZ_ANSWER_CHECK_H_
#define ENGRAM_TESTS_FUZZ_ANSWER_CHECK_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engram/v1/engram.pb.h"
#include "server/frame_plan.h"
#include "server/step_check.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/in_flight_check.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {

// One stream's answers. Sent before a step is given to the server, Got for each message that comes back. Not
// thread-safe.
class AnswerCheck {
 public:
  explicit AnswerCheck(const v1::Limits& limits) : limits_(limits) {}

  void Sent(const v1::StepRequest& request) {
    in_flight_.Sent(request.step_id(), BytesOf(request, nullptr));
    open_.try_emplace(request.step_id(), OpenStep{request, {}, 0, 0, {}});
  }

  void Got(const std::string& bytes) {
    v1::ServerMessage message;
    ENGRAM_REQUIRE(message.ParseFromString(bytes), "what is sent is a ServerMessage");
    ENGRAM_REQUIRE(bytes.size() <= limits_.frame_bytes_max(),
                   absl::StrCat("frame_bytes_max and a message of ", bytes.size()));
    ENGRAM_REQUIRE(message.has_welcome() == !welcomed_, "one Welcome, before all else");
    welcomed_ = true;
    if (message.has_welcome()) return;
    const v1::StepReply& reply = message.reply();
    const auto open = open_.find(reply.step_id());
    ENGRAM_REQUIRE(open != open_.end(), absl::StrCat("a frame of an open step: ", reply.DebugString()));
    Frame(reply, open->second);
    in_flight_.Paid(reply.step_id(), PayloadBytes(reply, open->second));
    if (reply.last()) End(reply, open->second);
    if (reply.last()) open_.erase(open);
  }

  // The stream ended well.
  void RequireAllAnswered() const {
    ENGRAM_REQUIRE(open_.empty(), "a stream that ends well has answered every step");
    in_flight_.RequireBounds(limits_.steps_in_flight_max(), limits_.bytes_in_flight_max());
  }

 private:
  static constexpr int kInvalid = static_cast<int>(absl::StatusCode::kInvalidArgument);
  static constexpr int kPrecondition = static_cast<int>(absl::StatusCode::kFailedPrecondition);
  static constexpr int kExhausted = static_cast<int>(absl::StatusCode::kResourceExhausted);

  struct OpenStep {
    v1::StepRequest request;
    std::vector<v1::SegmentResult> results;
    uint32_t layer = 0;  // of the rows last seen
    uint64_t token_end = 0;
    std::map<uint32_t, uint64_t> covered;  // tokens by layer
  };

  // Of all rows, those that row_index stands for too.
  static uint64_t PayloadBytes(const v1::StepReply& reply, const OpenStep& step) {
    if (reply.row_index_size() > 0) return static_cast<uint64_t>(reply.row_index_size()) * RowBytes(step);
    return reply.rows().size() + sizeof(uint64_t) * static_cast<size_t>(reply.hash_ids_size());
  }

  static uint64_t RowBytes(const OpenStep& step) {
    return TokenBytes(TinyGeometry(), step.request.format()) / TinyGeometry().columns();
  }

  // Asked for, each row used, in the order of first use, and smaller than all rows.
  static void Index(const v1::StepReply& reply, const OpenStep& step) {
    ENGRAM_REQUIRE(step.request.unique_rows() && step.request.format() != v1::ROW_FORMAT_HASH_IDS, "row_index");
    uint64_t named = 0;
    for (const uint32_t row : reply.row_index()) {
      ENGRAM_REQUIRE(row <= named, "rows in the order of their first use");
      named += row == named ? 1 : 0;
    }
    ENGRAM_REQUIRE(reply.rows().size() == named * RowBytes(step), "each row is used");
    ENGRAM_REQUIRE(reply.rows().size() + 4 * static_cast<size_t>(reply.row_index_size()) < PayloadBytes(reply, step),
                   "an index that saves something");
  }

  static size_t LayersOf(const v1::StepRequest& request) {
    return request.layers().empty() ? 2 : static_cast<size_t>(request.layers_size());
  }

  // Rows of all segments, or of those with result OK.
  static uint64_t BytesOf(const v1::StepRequest& request, const std::vector<v1::SegmentResult>* results) {
    uint64_t tokens = 0;
    for (int i = 0; i < request.segments_size(); ++i) {
      if (results != nullptr && results->at(static_cast<size_t>(i)).code() != 0) continue;
      tokens += AnsweredTokens(request.segments(i), request.omit_masked_rows());
    }
    return tokens * LayersOf(request) * TokenBytes(TinyGeometry(), request.format());
  }

  // A refused step has nothing but its code; one that was admitted has all results, whatever became of it.
  void End(const v1::StepReply& reply, const OpenStep& step) {
    const auto segments = static_cast<size_t>(step.request.segments_size());
    const bool refused = segments > 0
                             ? step.results.empty()
                             : reply.code() == kExhausted || reply.code() == kInvalid || reply.code() == kPrecondition;
    ENGRAM_REQUIRE(refused || step.results.size() == segments, "all results");
    in_flight_.Ended(reply.step_id(), !refused, refused ? 0 : BytesOf(step.request, &step.results));
  }

  void Frame(const v1::StepReply& reply, OpenStep& step) {
    for (const v1::SegmentResult& result : reply.results()) Result(result, step);
    ENGRAM_REQUIRE(reply.table_version() == 3, "table_version");
    if (reply.token_count() > 0) Rows(reply, step);
    ENGRAM_REQUIRE(
        reply.token_count() > 0 || (reply.rows().empty() && reply.hash_ids().empty() && reply.row_index().empty()),
        "rows belong to tokens");
    if (reply.row_index_size() > 0) Index(reply, step);
    if (!reply.last()) return ENGRAM_REQUIRE(reply.code() == 0 && reply.message().empty(), "an outcome comes last");
    const bool ok = reply.code() == 0;
    ENGRAM_REQUIRE(ok == reply.message().empty() && reply.message().size() <= kFrameMessageBytesMax,
                   reply.DebugString());
    if (ok) Complete(step);
  }

  static void Result(const v1::SegmentResult& result, OpenStep& step) {
    const auto index = static_cast<int>(step.results.size());
    ENGRAM_REQUIRE(index < step.request.segments_size(), "one result a segment");
    ENGRAM_REQUIRE(result.session_id() == step.request.segments(index).session_id(), "results come in request order");
    ENGRAM_REQUIRE((result.code() == 0) == result.message().empty(),
                   absl::StrCat("a refusal says why: ", result.code()));
    ENGRAM_REQUIRE(result.has_state() == (result.code() == 0 && step.request.return_states()),
                   "states where asked for");
    if (result.has_state()) {
      const auto ids = static_cast<uint64_t>(result.state().compressed_ids_size());
      ENGRAM_REQUIRE(result.state().position() == result.length() && ids == std::min<uint64_t>(result.length(), 3),
                     "state");
    }
    step.results.push_back(result);
  }

  // Rows follow all results, lower layer first, in order of tokens, whole tokens.
  static void Rows(const v1::StepReply& reply, OpenStep& step) {
    ENGRAM_REQUIRE(step.results.size() == static_cast<size_t>(step.request.segments_size()),
                   "results come before rows");
    ENGRAM_REQUIRE(reply.layer() >= step.layer, "lower layers first");
    if (reply.layer() != step.layer) step.token_end = 0;
    ENGRAM_REQUIRE(reply.token_begin() >= step.token_end, "tokens in order");
    step.layer = reply.layer();
    step.token_end = reply.token_begin() + reply.token_count();
    step.covered[reply.layer()] += reply.token_count();
    const uint64_t token_bytes = TokenBytes(TinyGeometry(), step.request.format());
    const uint64_t bytes = PayloadBytes(reply, step);
    const bool whole = step.request.omit_masked_rows() ? bytes <= token_bytes * reply.token_count()
                                                       : bytes == token_bytes * reply.token_count();
    ENGRAM_REQUIRE(bytes % token_bytes == 0 && whole, absl::StrCat(bytes, " bytes of rows: ", reply.token_count()));
  }

  // A step that ended well has the rows of every accepted token.
  static void Complete(const OpenStep& step) {
    uint64_t tokens = 0;
    for (size_t i = 0; i < step.results.size(); ++i) {
      const v1::Segment& segment = step.request.segments(static_cast<int>(i));
      if (step.results[i].code() == 0) tokens += static_cast<uint64_t>(segment.token_ids_size());
    }
    ENGRAM_REQUIRE(step.covered.size() == (tokens == 0 ? 0 : LayersOf(step.request)), "all layers");
    for (const auto& [layer, covered] : step.covered) {
      ENGRAM_REQUIRE(covered == tokens, absl::StrCat(covered, " of ", tokens, " tokens answered, layer ", layer));
    }
  }

  const v1::Limits limits_;
  InFlightCheck in_flight_;
  bool welcomed_ = false;
  std::map<uint64_t, OpenStep> open_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_FUZZ_ANSWER_CHECK_H_
