#include "server/frame_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/hash_constants.h"
#include "server/frame_hash.h"
#include "tests/unit/server/tiny_model.h"

namespace engram {
namespace {

struct PlanCase {
  std::string title;
  Step step;
  FrameLimits limits{100000, 100000};
  int drop_after = -1;  // frames popped before DropRows
  std::string expected;
};

uint64_t Number(absl::string_view text) {
  uint64_t value = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &value)) << text;
  return value;
}

v1::RowFormat FormatNamed(absl::string_view name) {
  v1::RowFormat format = v1::ROW_FORMAT_PACKED;
  EXPECT_TRUE(v1::RowFormat_Parse(absl::StrCat("ROW_FORMAT_", name), &format)) << name;
  return format;
}

void ReadStep(const std::vector<std::string>& words, PlanCase& read) {
  for (const std::string& word : words) {
    const std::vector<std::string> pair = absl::StrSplit(word, '=');
    if (pair[0] == "layers") {
      for (const auto& id : absl::StrSplit(pair[1], ',')) {
        read.step.layer_indices.push_back(static_cast<size_t>(TinyGeometry().LayerIndex(uint32_t(Number(id)))));
      }
    }
    if (pair[0] == "frame") read.limits.frame_bytes_max = Number(pair[1]);
    if (pair[0] == "round") read.limits.round_bytes_max = Number(pair[1]);
    if (pair[0] == "format") read.step.format = FormatNamed(pair[1]);
    if (pair[0] == "omit") read.step.omit_masked_rows = true;
    if (pair[0] == "close_failed") read.step.close_status = absl::AbortedError("busy");
    if (pair[0] == "drop_after") read.drop_after = static_cast<int>(Number(pair[1]));
  }
}

void ReadSegment(const std::vector<std::string>& words, PlanCase& read) {
  StepSegment segment;
  for (const std::string& word : words) {
    const std::vector<std::string> pair = absl::StrSplit(word, '=');
    if (pair[0] == "begin") segment.token_begin = Number(pair[1]);
    if (pair[0] == "tokens") segment.window.assign(Number(pair[1]), 5);
    if (pair[0] != "masked") continue;
    if (pair[1] == "all") {
      segment.window.assign(segment.window.size(), kDead);
      continue;
    }
    for (const auto& token : absl::StrSplit(pair[1], ',')) segment.window[Number(token)] = kDead;
  }
  read.step.segments.push_back(std::move(segment));
}

std::vector<PlanCase> ReadCases() {
  std::ifstream file(std::string(ENGRAM_SOURCE_DIR) + "/tests/unit/server/frame_plan.txt");
  std::vector<PlanCase> cases;
  bool expecting = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words[0] == "title") {
      cases.emplace_back().title = line;
      expecting = false;
    } else if (words[0] == "----") {
      expecting = true;
    } else if (expecting) {
      absl::StrAppend(&cases.back().expected, line, "\n");
    } else if (words[0] == "step") {
      ReadStep(words, cases.back());
    } else if (words[0] == "segment") {
      ReadSegment(words, cases.back());
    } else if (words[0] == "result") {
      cases.back().step.results.emplace_back().set_message(std::string(Number(words[1]), 'x'));
    } else {
      ADD_FAILURE() << line;
    }
  }
  return cases;
}

std::string TextOf(const Frame& frame) {
  std::string text = "frame";
  if (frame.token_count > 0) {
    absl::StrAppend(&text, " layer=", TinyGeometry().layer_ids[frame.layer_index], " tokens=[", frame.token_begin, ",",
                    frame.token_begin + frame.token_count, ") rows=", frame.rows, " bytes=", frame.payload_bytes);
  }
  if (frame.has_results()) absl::StrAppend(&text, " results=[", frame.results_begin, ",", frame.results_end, ")");
  return absl::StrCat(text, frame.last ? " last\n" : "\n");
}

TEST(FramePlanTest, CutsAsWritten) {
  const Geometry geometry = TinyGeometry();
  const std::vector<PlanCase> cases = ReadCases();
  ASSERT_EQ(cases.size(), 20u);
  for (const PlanCase& planned : cases) {
    FramePlan plan(planned.step, geometry, planned.limits);
    std::string text;
    for (int frames = 0; plan.Peek() != nullptr; ++frames) {
      if (frames == planned.drop_after) plan.DropRows();
      absl::StrAppend(&text, TextOf(*plan.Peek()));
      plan.Pop();
    }
    EXPECT_EQ(text, planned.expected) << planned.title;
  }
}

// Whatever the cut, a frame's ids are those of the whole sequence at its positions.
TEST(FrameHashTest, EveryCutGivesTheSameIds) {
  Geometry geometry = TinyGeometry();
  const NgramHasher hasher(geometry, TinyConstants(geometry));
  const size_t columns = geometry.columns();
  const std::vector<int32_t> sequence = {3, 9, kDead, 4, 17, 2, 8, 8, 0, 19, kDead, 1};
  for (size_t begin = 0; begin < sequence.size(); ++begin) {
    Step step;
    step.layer_indices = {1, 0};
    StepSegment segment;
    segment.lookback = static_cast<uint32_t>(std::min<size_t>(begin, 3));
    segment.window.assign(sequence.begin() + static_cast<ptrdiff_t>(begin - segment.lookback), sequence.end());
    step.segments = {segment, segment};
    step.segments[1].token_begin = segment.tokens();
    for (const uint64_t frame_bytes : {256 + 198, 256 + 2 * 198, 1000, 100000}) {
      for (const bool omit : {false, true}) {
        step.omit_masked_rows = omit;
        FramePlan plan(step, geometry, FrameLimits{frame_bytes, 1 << 20});
        for (; plan.Peek() != nullptr; plan.Pop()) {
          const Frame& frame = *plan.Peek();
          std::vector<uint64_t> whole(sequence.size() * columns);
          hasher.Hash(frame.layer_index, sequence, 0, absl::MakeSpan(whole));
          std::vector<uint64_t> expected;
          for (uint64_t token = frame.token_begin; token < frame.token_begin + frame.token_count; ++token) {
            const size_t position = begin + token % segment.tokens();
            if (omit && sequence[position] == kDead) continue;
            const auto first = whole.begin() + static_cast<ptrdiff_t>(position * columns);
            expected.insert(expected.end(), first, first + static_cast<ptrdiff_t>(columns));
          }
          std::vector<uint64_t> ids(frame.rows * columns);
          HashFrame(hasher, step, frame, absl::MakeSpan(ids));
          EXPECT_EQ(ids, expected) << "begin " << begin << " frame bytes " << frame_bytes << " omit " << omit;
        }
      }
    }
  }
}

}  // namespace
}  // namespace engram
