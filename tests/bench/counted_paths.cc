#include "counted_paths.h"

#include <numeric>

#include "model/hash_constants.h"
#include "model/ngram_hash.h"
#include "model/unique_ids.h"
#include "shard/row_plan.h"
#include "shard/row_writer.h"

namespace engram {
namespace {

constexpr uint64_t kFirstPrimeAbove = 1000;

// Numbers without a pattern that memory or branches would notice.
uint64_t Scatter(uint64_t i) { return (i + 1) * 0x9E3779B97F4A7C15u >> 20; }

HashConstants ConstantsOf(Geometry& geometry) {
  HashConstants constants;
  for (uint32_t token = 0; token < geometry.vocab_size; ++token) {
    constants.token_map.push_back(static_cast<int32_t>(token % geometry.compressed_vocab_size));
  }
  constants.pad_id = 2;
  constants.multipliers = DeriveMultipliers(geometry);
  constants.primes = DerivePrimes(geometry, kFirstPrimeAbove);
  constants.offsets = OffsetsOf(geometry, constants.primes);
  const auto columns = static_cast<ptrdiff_t>(geometry.columns());
  for (size_t layer = 0; layer < geometry.layers(); ++layer) {
    const auto begin = constants.primes.begin() + static_cast<ptrdiff_t>(layer) * columns;
    geometry.rows.push_back(static_cast<uint64_t>(std::accumulate(begin, begin + columns, int64_t{0})));
  }
  return constants;
}

class HashPath final : public CountedPath {
 public:
  HashPath() : hasher_(model_.geometry, model_.constants), ids_(kTokens * hasher_.columns()) {
    for (uint64_t i = 0; i < kTokens; ++i) {
      window_.push_back(static_cast<int32_t>(Scatter(i) % model_.geometry.compressed_vocab_size));
    }
  }
  void Run() override {
    for (size_t layer = 0; layer < model_.geometry.layers(); ++layer) {
      hasher_.Hash(layer, window_, 0, absl::MakeSpan(ids_));
    }
  }
  uint64_t units() const override { return kTokens; }

 private:
  static constexpr uint64_t kTokens = 2048;
  const Checkpoint model_ = CountedModel();
  const NgramHasher hasher_;
  std::vector<int32_t> window_;
  std::vector<uint64_t> ids_;
};

class GatherPath final : public CountedPath {
 public:
  explicit GatherPath(RowForm form)
      : form_(form),
        writer_(CountedModel().geometry.head_dim),
        table_(kTableRows * writer_.packed_bytes()),
        out_(kRows * writer_.bytes(form)) {
    for (size_t i = 0; i < table_.size(); ++i)
      // Below 127 there is no NaN, as in the rows of a model.
      table_[i] = static_cast<uint8_t>(i % writer_.packed_bytes() < 256 ? i % 127 : 127);
    for (uint64_t i = 0; i < kRows; ++i) rows_.push_back(Scatter(i) % kTableRows);
  }
  void Run() override {
    writer_.WriteAll(form_, rows_, {}, out_.data(), [this](uint64_t row) {
      const uint8_t* codes = table_.data() + row * writer_.packed_bytes();
      return RowBytes{codes, codes + writer_.head_dim()};
    });
  }
  uint64_t units() const override { return kRows; }

 private:
  static constexpr uint64_t kTableRows = 2000;
  static constexpr uint64_t kRows = 8192;
  const RowForm form_;
  RowWriter writer_;
  std::vector<uint8_t> table_;
  std::vector<std::byte> out_;
  std::vector<uint64_t> rows_;
};

class PlanPath final : public CountedPath {
 public:
  PlanPath() : plan_(model_.geometry.rows, kRanks) {
    for (size_t layer = 0; layer < model_.geometry.layers(); ++layer) {
      std::vector<uint64_t> ids;
      for (uint64_t i = 0; i < kRows; ++i) ids.push_back(Scatter(i) % model_.geometry.rows[layer]);
      ids_.push_back(std::move(ids));
    }
    for (size_t layer = 0; layer < ids_.size(); ++layer)
      blocks_.push_back({layer, RowForm::kPacked, ids_[layer], nullptr});
  }
  void Run() override { plan_.Build(blocks_); }
  uint64_t units() const override { return kRows * ids_.size(); }

 private:
  static constexpr size_t kRanks = 4;
  static constexpr uint64_t kRows = 8192;
  const Checkpoint model_ = CountedModel();
  RowPlan plan_;
  std::vector<std::vector<uint64_t>> ids_;
  std::vector<RowBlock> blocks_;
};

class UniquePath final : public CountedPath {
 public:
  UniquePath() {
    for (uint64_t i = 0; i < kIds; ++i) ids_.push_back(Scatter(Scatter(i) % (kIds / 2)));
  }
  void Run() override { unique_.Build(ids_); }
  uint64_t units() const override { return kIds; }

 private:
  static constexpr uint64_t kIds = 8192;
  UniqueIds unique_{0x9E3779B97F4A7C15u};  // no chance in what is counted
  std::vector<uint64_t> ids_;
};

}  // namespace

Checkpoint CountedModel() {
  Checkpoint model;
  model.name = "counted";
  model.geometry.layer_ids = {1, 14};
  model.geometry.max_ngram_size = 4;
  model.geometry.heads = 8;
  model.geometry.head_dim = 256;
  model.geometry.vocab_size = 129280;
  model.geometry.compressed_vocab_size = 99092;
  model.constants = ConstantsOf(model.geometry);
  model.constants_digest = std::string(32, 'c');
  model.model_digest = std::string(32, 'm');
  return model;
}

std::unique_ptr<CountedPath> MakeHashPath() { return std::make_unique<HashPath>(); }
std::unique_ptr<CountedPath> MakePackedGatherPath() { return std::make_unique<GatherPath>(RowForm::kPacked); }
std::unique_ptr<CountedPath> MakeBf16GatherPath() { return std::make_unique<GatherPath>(RowForm::kBf16); }
std::unique_ptr<CountedPath> MakePlanPath() { return std::make_unique<PlanPath>(); }
std::unique_ptr<CountedPath> MakeUniquePath() { return std::make_unique<UniquePath>(); }

}  // namespace engram
