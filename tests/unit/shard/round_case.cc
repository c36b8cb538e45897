#include "tests/unit/shard/round_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/unit/shard/synthetic_tables.h"

namespace engram {
namespace {

constexpr std::byte kPoison{0xA5};
constexpr size_t kFence = 64;

bool IsPoison(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte byte) { return byte == kPoison; });
}

std::vector<RowForm> FormsOf(CombineMode mode) {
  if (!Serves(mode, RowForm::kPacked)) return {RowForm::kBf16};
  return {RowForm::kPacked, RowForm::kBf16};
}

// Rows of layer `layer` in a step's hash ids, which are [positions, layers, K].
std::vector<uint64_t> IdsOf(const GoldenCase& golden, const GoldenStep& step, size_t layer) {
  const size_t columns = golden.geometry.columns();
  const size_t stride = columns * golden.geometry.layers();
  std::vector<uint64_t> ids;
  for (size_t at = layer * columns; at < step.hash_ids.size(); at += stride) {
    ids.insert(ids.end(), step.hash_ids.begin() + static_cast<std::ptrdiff_t>(at),
               step.hash_ids.begin() + static_cast<std::ptrdiff_t>(at + columns));
  }
  return ids;
}

void ExpectReferenceRow(const std::byte* row, const uint16_t* reference, size_t head_dim, bool zeros_unsigned) {
  for (size_t i = 0; i < head_dim; ++i) {
    uint16_t value = 0;
    std::memcpy(&value, row + 2 * i, sizeof(value));
    const uint16_t wanted = zeros_unsigned && reference[i] == 0x8000 ? uint16_t{0} : reference[i];
    ASSERT_TRUE(SameBf16(value, wanted)) << "value " << i << " is " << value << ", the reference has " << wanted;
  }
}

}  // namespace

void RoundCase::Add(size_t layer, RowForm form, std::vector<uint64_t> ids, bool odd) {
  const Geometry& geometry = checkpoint_.geometry;
  const size_t width = form == RowForm::kPacked ? geometry.packed_row_bytes() : geometry.bf16_row_bytes();
  const size_t begin = kFence + (odd ? 1 : 0);
  std::vector<std::byte> memory(begin + ids.size() * width + kFence, kPoison);
  blocks_.push_back({layer, form, std::move(ids), std::move(memory), begin, width});
}

void RoundCase::AddRandom(CombineMode mode, size_t rows, std::mt19937_64& random) {
  const std::vector<RowForm> forms = FormsOf(mode);
  for (size_t blocks = random() % 6; blocks > 0; --blocks) {
    const size_t layer = random() % checkpoint_.geometry.layers();
    const size_t count = std::min<size_t>(rows, random() % 40);
    std::vector<uint64_t> ids(count);
    for (uint64_t& id : ids) id = random() % checkpoint_.geometry.rows[layer];
    rows -= count;
    Add(layer, forms[random() % forms.size()], std::move(ids), random() % 2 == 0);
  }
}

// In the engine's reply memory while there is room, then in memory of our own.
absl::Status RoundCase::Run(Engine& engine) {
  std::vector<RowBlock> blocks;
  std::vector<std::byte*> lent;
  absl::Span<std::byte> room = engine.reply_memory().bytes;
  for (Block& block : blocks_) {
    const bool fits = block.memory.size() <= room.size();
    lent.push_back(fits ? room.data() : block.memory.data());
    if (fits) room.remove_prefix(block.memory.size());
    std::fill_n(lent.back(), block.memory.size(), kPoison);
    blocks.push_back({block.layer, block.form, block.ids, lent.back() + block.begin});
  }
  const absl::Status status = engine.Gather(blocks);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<std::byte>& memory = blocks_[i].memory;
    if (lent[i] != memory.data()) std::copy_n(lent[i], memory.size(), memory.data());
  }
  return status;
}

std::vector<RowBlock> RoundCase::MakeBlocks() {
  std::vector<RowBlock> blocks;
  for (Block& block : blocks_) {
    std::fill(block.memory.begin(), block.memory.end(), kPoison);
    blocks.push_back({block.layer, block.form, block.ids, block.memory.data() + block.begin});
  }
  return blocks;
}

std::vector<absl::Span<std::byte>> RoundCase::memories() {
  std::vector<absl::Span<std::byte>> memories;
  for (Block& block : blocks_) memories.push_back(absl::MakeSpan(block.memory));
  return memories;
}

const std::byte* RoundCase::row(size_t block, size_t index) const {
  return blocks_[block].memory.data() + blocks_[block].begin + index * blocks_[block].width;
}

void RoundCase::ExpectRows(CombineMode mode, int ranks) const {
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    for (size_t i = 0; i < block.ids.size(); ++i) {
      const std::vector<std::byte> wanted = OracleRow(checkpoint_, block.layer, block.ids[i], block.form, mode, ranks);
      ASSERT_EQ(wanted.size(), block.width);
      ASSERT_EQ(std::memcmp(row(b, i), wanted.data(), block.width), 0)
          << "block " << b << ", row " << i << " (layer index " << block.layer << ", id " << block.ids[i] << ")";
    }
    const std::byte* begin = block.memory.data();
    ASSERT_TRUE(IsPoison(begin, begin + block.begin)) << "written before block " << b;
    ASSERT_TRUE(IsPoison(row(b, block.ids.size()), begin + block.memory.size())) << "written behind block " << b;
  }
}

void ExpectGoldenRounds(Engine& engine, const Checkpoint& checkpoint, const GoldenCase& golden, CombineMode mode,
                        int ranks) {
  const size_t head_dim = golden.geometry.head_dim;
  ASSERT_FALSE(golden.steps.empty());
  for (const GoldenStep& step : golden.steps) {
    RoundCase round(checkpoint);
    for (size_t layer = 0; layer < golden.geometry.layers(); ++layer) {
      round.Add(layer, RowForm::kBf16, IdsOf(golden, step, layer), layer % 2 == 1);
    }
    if (Serves(mode, RowForm::kPacked)) round.Add(0, RowForm::kPacked, IdsOf(golden, step, 0), true);
    ASSERT_EQ(round.Run(engine), absl::OkStatus());
    ASSERT_NO_FATAL_FAILURE(round.ExpectRows(mode, ranks));
    for (size_t layer = 0; layer < golden.geometry.layers(); ++layer) {
      ASSERT_EQ(step.rows[layer].size() % head_dim, 0u);
      for (size_t i = 0; i < step.rows[layer].size() / head_dim; ++i) {
        ASSERT_NO_FATAL_FAILURE(ExpectReferenceRow(round.row(layer, i), &step.rows[layer][i * head_dim], head_dim,
                                                   mode == CombineMode::kAllReduceBf16 && ranks > 1));
      }
    }
  }
}

void ExpectRandomRounds(Engine& engine, const Checkpoint& checkpoint, CombineMode mode, int ranks, int rounds,
                        uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < rounds; ++i) {
    RoundCase round(checkpoint);
    round.AddRandom(mode, 150, random);
    ASSERT_EQ(round.Run(engine), absl::OkStatus()) << "seed " << seed << ", round " << i;
    ASSERT_NO_FATAL_FAILURE(round.ExpectRows(mode, ranks)) << "seed " << seed << ", round " << i;
    if (random() % 8 == 0) {
      ASSERT_EQ(engine.Heartbeat(), absl::OkStatus());
    }
  }
}

}  // namespace engram
