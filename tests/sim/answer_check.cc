#include "tests/sim/answer_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace engram {
namespace {

class Walk {
 public:
  Walk(const SimModel& sim, const v1::StepRequest& request, const ModelAnswer& expected)
      : sim_(sim), request_(request), expected_(expected) {}

  std::string Frame(const v1::StepReply& frame) {
    if (ended_) return "a frame after the last one";
    if (frame.step_id() != request_.step_id()) return "a frame of another step";
    if (frame.table_version() != sim_.model.table_version()) return "table_version";
    for (const v1::SegmentResult& result : frame.results()) {
      if (std::string wrong = Result(result); !wrong.empty()) return wrong;
    }
    if (std::string wrong = Rows(frame); !wrong.empty()) return wrong;
    if (!frame.last() && frame.code() != 0) return "a code before the last frame";
    ended_ = frame.last();
    return "";
  }

  std::string End(absl::StatusCode code, const v1::StepReply& last) const {
    if (!ended_) return "no last frame";
    if (last.code() != static_cast<int>(code)) {
      return absl::StrCat("code ", last.code(), " (", last.message(), ") for ", static_cast<int>(code));
    }
    if (code != absl::StatusCode::kOk && last.message().empty()) return "a code without a message";
    if (results_ != expected_.segments.size()) return absl::StrCat(results_, " results");
    const bool complete = code == absl::StatusCode::kOk || code == expected_.code;
    if (complete && tokens_ != expected_.tokens.size()) {
      return absl::StrCat(tokens_, " tokens of ", expected_.tokens.size());
    }
    return "";
  }

 private:
  std::string Result(const v1::SegmentResult& result) {
    if (results_ == expected_.segments.size()) return "a result too many";
    const ModelSegment& segment = expected_.segments[results_];
    const std::string name = absl::StrCat("results[", results_, "]");
    if (result.session_id() != request_.segments(static_cast<int>(results_)).session_id()) return name + ".session_id";
    if (result.code() != static_cast<int>(segment.code)) {
      return absl::StrCat(name, ".code = ", result.code(), " (", result.message(), ") for ",
                          static_cast<int>(segment.code));
    }
    if (result.message().empty() != (result.code() == 0)) return name + ".message";
    if (result.length() != segment.length) return absl::StrCat(name, ".length = ", result.length());
    const bool has_state = request_.return_states() && result.code() == 0;
    if (result.has_state() != has_state) return name + ".state";
    if (has_state && result.state().position() != segment.length) return name + ".state.position";
    const auto& ids = result.state().compressed_ids();
    if (has_state && !std::equal(ids.begin(), ids.end(), segment.state.begin(), segment.state.end())) {
      return name + ".state.compressed_ids";
    }
    ++results_;
    return "";
  }

  std::string Rows(const v1::StepReply& frame) {
    std::string bytes;
    for (uint64_t i = 0; i < frame.token_count(); ++i, ++tokens_) {
      if (tokens_ == expected_.tokens.size()) return "a token too many";
      const ModelToken& token = expected_.tokens[tokens_];
      if (token.token != frame.token_begin() + i) return absl::StrCat("token ", frame.token_begin() + i);
      if (sim_.geometry().layer_ids[token.layer_index] != frame.layer()) return absl::StrCat("layer ", frame.layer());
      for (const uint64_t id : token.row_ids) bytes += sim_.RowBytes(token.layer_index, id, request_.format());
    }
    if (frame.token_count() != 0 && results_ != expected_.segments.size()) return "rows before the results";
    if ((request_.format() == v1::ROW_FORMAT_HASH_IDS ? frame.rows().size() : frame.hash_ids_size()) != 0) {
      return "another format";
    }
    if (!frame.row_index().empty() && !request_.unique_rows()) return "row_index, not asked for";
    if (PayloadOf(frame) == bytes) return "";
    return absl::StrCat("wrong rows for tokens [", frame.token_begin(), ", ", frame.token_begin() + frame.token_count(),
                        ") of layer ", frame.layer());
  }

  const SimModel& sim_;
  const v1::StepRequest& request_;
  const ModelAnswer& expected_;
  size_t results_ = 0;  // seen so far
  size_t tokens_ = 0;
  bool ended_ = false;
};

std::string Describe(const std::string& wrong, const v1::StepRequest& request) {
  return absl::StrCat(wrong, "\nrequest: ", request.ShortDebugString());
}

}  // namespace

std::string PayloadOf(const v1::StepReply& frame) {
  if (!frame.row_index().empty()) {
    const auto& index = frame.row_index();
    const size_t row_bytes = frame.rows().size() / (*std::max_element(index.begin(), index.end()) + size_t{1});
    std::string rows;
    for (const uint32_t row : index) rows += frame.rows().substr(row * row_bytes, row_bytes);
    return rows;
  }
  std::string bytes = frame.rows();
  for (const uint64_t id : frame.hash_ids()) bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
  return bytes;
}

std::string WrongWith(const std::vector<v1::StepReply>& frames, const SimModel& sim, const v1::StepRequest& request,
                      const ModelAnswer& expected, absl::StatusCode code) {
  Walk walk(sim, request, expected);
  for (const v1::StepReply& frame : frames) {
    if (std::string wrong = walk.Frame(frame); !wrong.empty()) return Describe(wrong, request);
  }
  const std::string wrong = walk.End(code, frames.empty() ? v1::StepReply() : frames.back());
  return wrong.empty() ? wrong : Describe(wrong, request);
}

std::string WrongWithPart(const std::vector<v1::StepReply>& frames, const SimModel& sim, const v1::StepRequest& request,
                          const ModelAnswer& expected) {
  Walk walk(sim, request, expected);
  for (const v1::StepReply& frame : frames) {
    if (std::string wrong = walk.Frame(frame); !wrong.empty()) return Describe(wrong, request);
  }
  return "";
}

}  // namespace engram
