// mpirun -np W combine_bench --checkpoint DIR --texts FILE...: rows a second through the engine in each combine mode,
// one after the other and again, with repeated rows gathered --repeated each, once. Rank 0 prints one JSON object.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "bench_input.h"
#include "model/files/errors.h"
#include "model/unique_ids.h"
#include "row_check.h"
#include "shard/engine.h"
#include "stopwatch.h"

namespace engram {
namespace {

using nlohmann::json;

struct Arguments {
  BenchFiles files;
  double seconds = 1;
  size_t pairs = 3;
  std::vector<std::string> repeated = {"each"};
};

// Of a round: as many tokens of all layers as fit into 4 MiB of bf16, engram-server's default.
constexpr uint64_t kRoundBytes = 4 << 20;
constexpr size_t kCheckedEvery = 16;  // rounds
struct Way {
  CombineMode mode;
  RowForm form;
  const char* name;
  bool direct = true;  // owners write replies themselves, where they share memory
};
constexpr Way kWays[] = {{CombineMode::kOwnerGather, RowForm::kBf16, "OWNER_GATHER bf16"},
                         {CombineMode::kAllReduceBf16, RowForm::kBf16, "ALL_REDUCE_BF16 bf16"},
                         {CombineMode::kOwnerGather, RowForm::kPacked, "OWNER_GATHER packed"},
                         {CombineMode::kAllReducePacked, RowForm::kPacked, "ALL_REDUCE_PACKED packed"},
                         {CombineMode::kOwnerGather, RowForm::kPacked, "OWNER_GATHER packed, messages", false}};

// Rounds of the texts' rows, one behind the other.
class Rounds {
 public:
  Rounds(const BenchInput& input, int ranks)
      : input_(input),
        ranks_(ranks),
        round_tokens_(std::max<uint64_t>(1, kRoundBytes / (input.geometry().layers() * input.geometry().columns() *
                                                           input.geometry().bf16_row_bytes()))),
        out_(kRoundBytes + (1 << 20)),
        check_(input) {
    for (size_t layer = 0; layer < input.geometry().layers(); ++layer) ids_.push_back(input.RowIds(layer));
  }

  uint64_t out_bytes() const { return out_.size(); }
  uint64_t rows_max() const { return round_tokens_ * input_.geometry().layers() * input_.geometry().columns(); }

  // Rows a second, for at least `seconds`.
  absl::StatusOr<double> Measure(Engine& engine, const Way& way, double seconds) {
    // As engram-server does: replies lie where ranks can write them, where there is such memory.
    const ReplyMemory shared = engine.reply_memory();
    std::byte* const out = shared.bytes.size() >= out_bytes() ? shared.bytes.data() : out_.data();
    double spent = 0;
    uint64_t rows = 0;
    for (size_t round = 0; spent < seconds; ++round) {
      const std::vector<RowBlock> blocks = Next(way.form, out);
      const Stopwatch watch;
      ENGRAM_RETURN_IF_ERROR(engine.Gather(blocks));
      spent += watch.Seconds();
      for (const RowBlock& block : blocks) rows += block.ids.size();
      if (round % kCheckedEvery == 0) ENGRAM_RETURN_IF_ERROR(Check(blocks, way));
    }
    return static_cast<double>(rows) / spent;
  }

  uint64_t rows_checked() const { return check_.rows(); }

  // Different rows of a round, of its rows, over all rounds.
  double UniqueShare() const {
    const size_t round_rows = round_tokens_ * input_.geometry().columns();
    UniqueIds unique;
    uint64_t found = 0, rows = 0;
    for (; rows + round_rows <= ids_[0].size(); rows += round_rows) {
      unique.Build(absl::MakeConstSpan(ids_[0]).subspan(rows, round_rows));  // every layer repeats alike
      found += unique.unique().size();
    }
    return rows == 0 ? 1 : static_cast<double>(found) / static_cast<double>(rows);
  }

 private:
  std::vector<RowBlock> Next(RowForm form, std::byte* out) {
    const Geometry& geometry = input_.geometry();
    if (token_ + round_tokens_ > input_.tokens.size()) token_ = 0;
    const size_t row_bytes = form == RowForm::kPacked ? geometry.packed_row_bytes() : geometry.bf16_row_bytes();
    std::vector<RowBlock> blocks;
    for (size_t layer = 0; layer < geometry.layers(); ++layer) {
      const auto ids =
          absl::MakeConstSpan(ids_[layer]).subspan(token_ * geometry.columns(), round_tokens_ * geometry.columns());
      blocks.push_back({layer, form, ids, out});
      out += ids.size() * row_bytes;
    }
    token_ += round_tokens_;
    return blocks;
  }

  absl::Status Check(const std::vector<RowBlock>& blocks, const Way& way) {
    const Geometry& geometry = input_.geometry();
    const size_t row_bytes = way.form == RowForm::kPacked ? geometry.packed_row_bytes() : geometry.bf16_row_bytes();
    const bool lost = way.mode == CombineMode::kAllReduceBf16 && ranks_ > 1;
    for (const RowBlock& block : blocks) {
      for (const size_t i : {size_t{0}, block.ids.size() / 2, block.ids.size() - 1}) {
        ENGRAM_RETURN_IF_ERROR(check_.Row(way.form, block.layer_index, block.ids[i], block.out + i * row_bytes,
                                          lost ? RowCheck::MinusZero::kLost : RowCheck::MinusZero::kKept));
      }
    }
    return absl::OkStatus();
  }

  const BenchInput& input_;
  const int ranks_;
  const uint64_t round_tokens_;
  std::vector<std::vector<uint64_t>> ids_;  // [layers]
  std::vector<std::byte> out_;
  RowCheck check_;
  uint64_t token_ = 0;
};

EngineOptions OptionsOf(const Way& way, const std::string& repeated, const Rounds& rounds) {
  EngineOptions options;
  options.combine = way.mode;
  options.placement = Placement::kHost;
  options.round_rows_max = rounds.rows_max();
  options.repeated_rows = repeated == "once" ? RepeatedRows::kOnce : RepeatedRows::kEach;
  options.reply_bytes = way.direct ? rounds.out_bytes() : 0;
  options.round_timeout = absl::Seconds(60);
  return options;
}

absl::Status MeasureWay(Job& job, const BenchInput& input, const Arguments& arguments, const Way& way,
                        const std::string& repeated, Rounds& rounds, json& figures) {
  const EngineOptions options = OptionsOf(way, repeated, rounds);
  if (!job.is_front()) return job.Serve(input.checkpoint, options);
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, job.Start(input.checkpoint, options));
  ENGRAM_RETURN_IF_ERROR(rounds.Measure(*engine, way, arguments.seconds / 4).status());  // memory is touched now
  ENGRAM_ASSIGN_OR_RETURN(const double rate, rounds.Measure(*engine, way, arguments.seconds));
  const std::string suffix = arguments.repeated.size() > 1 ? ", " + repeated : "";
  figures["rows_per_second"][way.name + suffix].push_back(rate);
  return engine->Stop();
}

absl::Status Measure(Job& job, const Arguments& arguments) {
  ENGRAM_ASSIGN_OR_RETURN(const BenchInput input, OpenBenchInput(arguments.files));
  Rounds rounds(input, job.ranks());
  json figures;
  for (size_t pair = 0; pair < arguments.pairs; ++pair) {
    for (const Way& way : kWays) {
      for (const std::string& repeated : arguments.repeated) {
        ENGRAM_RETURN_IF_ERROR(MeasureWay(job, input, arguments, way, repeated, rounds, figures));
      }
    }
  }
  figures["ranks"] = job.ranks();
  figures["rows_of_a_round"] = rounds.rows_max();
  figures["unique_share"] = rounds.UniqueShare();
  figures["rows_checked"] = rounds.rows_checked();
  if (job.is_front()) std::cout << figures.dump() << std::endl;
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, Job::Join(1));
  const absl::Status status = Measure(*job, arguments);
  if (!status.ok()) {
    std::fprintf(stderr, "combine_bench: %s\n", std::string(status.message()).c_str());
    job->Abort(1);
  }
  return status;
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  CLI::App app{"Rows a second of each combine mode, under mpirun"};
  engram::Arguments arguments;
  app.add_option("--checkpoint", arguments.files.checkpoint, "Synthetic checkpoint")->required();
  app.add_option("--texts", arguments.files.texts, "Files of token sequences")->required();
  app.add_option("--tokens-max", arguments.files.tokens_max, "Of all texts");
  app.add_option("--seconds", arguments.seconds, "Of a window")->check(CLI::Range(0.01, 600.0));
  auto* repeated = app.add_option("--repeated", arguments.repeated, "each and once: how repeated rows are gathered");
  repeated->delimiter(',')->check(CLI::IsMember({"each", "once"}));
  app.add_option("--pairs", arguments.pairs, "Repetitions")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = engram::Run(arguments);
  if (!status.ok()) std::fprintf(stderr, "combine_bench: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
