// gather_bench --checkpoint DIR --texts FILE...: rows a second of HostTable beside a plain copy of the same rows; or,
// with
// --growth, of both as the rows in use grow from what a cache holds to the whole table; or, with --hash, row ids a
// second. Prints one JSON object.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "client/tool/oracle.h"
#include "gather_passes.h"
#include "model/files/errors.h"
#include "model/ngram_hash.h"
#include "stopwatch.h"

namespace engram {
namespace {

using nlohmann::json;

struct Arguments {
  BenchFiles files;
  size_t chunk_tokens = 512;
  size_t pairs = 7;
  bool growth = false;
  bool hash = false;
};

absl::StatusOr<json> MeasurePair(GatherPasses& passes) {
  json pair;
  ENGRAM_ASSIGN_OR_RETURN(pair["copy_before_packed"], passes.Copy());
  ENGRAM_ASSIGN_OR_RETURN(pair["packed"], passes.Gather(RowForm::kPacked));
  ENGRAM_ASSIGN_OR_RETURN(pair["copy_before_bf16"], passes.Copy());
  ENGRAM_ASSIGN_OR_RETURN(pair["bf16"], passes.Gather(RowForm::kBf16));
  return pair;
}

absl::StatusOr<json> MeasurePairs(const BenchInput& input, const Arguments& arguments) {
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<GatherPasses> passes,
                          GatherPasses::Open(input, arguments.chunk_tokens));
  ENGRAM_RETURN_IF_ERROR(passes->TuneCopy());
  json pairs;
  for (size_t i = 0; i < arguments.pairs; ++i) {
    ENGRAM_ASSIGN_OR_RETURN(const json pair, MeasurePair(*passes));
    pairs.push_back(pair);
  }
  return json{{"pairs", pairs},
              {"rows_of_a_pass", passes->rows()},
              {"copy_rows_ahead", passes->rows_ahead()},
              {"rows_checked", passes->rows_checked()}};
}

// Sizes of a table of both layers, from the smaller caches up.
absl::StatusOr<json> MeasureGrowth(const BenchInput& input, const Arguments& arguments) {
  const Geometry& geometry = input.geometry();
  const uint64_t rows_max = *std::min_element(geometry.rows.begin(), geometry.rows.end());
  ENGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<GatherPasses> passes,
                          GatherPasses::Open(input, arguments.chunk_tokens));
  json sizes;
  std::vector<uint64_t> limits = {rows_max};
  // Ids already taken modulo a multiple stay evenly spread: from the largest down, each a fourth of the one before.
  while (limits.back() > 4096) limits.push_back(limits.back() / 4);
  for (const uint64_t rows : limits) {
    passes->LimitRows(rows);
    ENGRAM_RETURN_IF_ERROR(passes->Copy().status());  // caches know these rows now, if they hold them
    ENGRAM_ASSIGN_OR_RETURN(const double copy, passes->Copy());
    ENGRAM_ASSIGN_OR_RETURN(const double packed, passes->Gather(RowForm::kPacked));
    ENGRAM_ASSIGN_OR_RETURN(const double bf16, passes->Gather(RowForm::kBf16));
    sizes.push_back({{"table_bytes", rows * geometry.packed_row_bytes() * geometry.layers()},
                     {"copy", copy},
                     {"packed", packed},
                     {"bf16", bf16}});
  }
  return json{{"sizes", sizes}, {"rows_checked", passes->rows_checked()}};
}

absl::Status CheckIds(const BenchInput& input, size_t layer, const std::vector<uint64_t>& ids) {
  const size_t columns = input.geometry().columns();
  for (size_t token = 0; token < input.tokens.size(); token += 97) {
    const std::vector<uint64_t> wanted =
        PlainRowIds(input.geometry(), input.checkpoint.constants, layer, input.compressed, token, token);
    if (std::equal(wanted.begin(), wanted.end(), ids.begin() + static_cast<ptrdiff_t>(token * columns))) continue;
    return absl::DataLossError("a row id differs from the plain formula's");
  }
  return absl::OkStatus();
}

absl::StatusOr<json> MeasureHash(const BenchInput& input, const Arguments& arguments) {
  const NgramHasher hasher(input.geometry(), input.checkpoint.constants);
  std::vector<uint64_t> ids(input.tokens.size() * hasher.columns());
  json rates;
  for (size_t i = 0; i < arguments.pairs; ++i) {
    double seconds = 0;
    for (size_t layer = 0; layer < input.geometry().layers(); ++layer) {
      const Stopwatch watch;
      hasher.Hash(layer, input.compressed, 0, absl::MakeSpan(ids));
      seconds += watch.Seconds();
      ENGRAM_RETURN_IF_ERROR(CheckIds(input, layer, ids));
    }
    rates.push_back(static_cast<double>(ids.size() * input.geometry().layers()) / seconds);
  }
  return json{{"ids_per_second", rates}};
}

absl::Status Run(const Arguments& arguments) {
  ENGRAM_ASSIGN_OR_RETURN(const BenchInput input, OpenBenchInput(arguments.files));
  const auto measure = arguments.hash ? MeasureHash : arguments.growth ? MeasureGrowth : MeasurePairs;
  ENGRAM_ASSIGN_OR_RETURN(const json figures, measure(input, arguments));
  std::cout << figures.dump() << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace engram

int main(int argc, char** argv) {
  CLI::App app{"Rows a second of placement HOST"};
  engram::Arguments arguments;
  app.add_option("--checkpoint", arguments.files.checkpoint, "Synthetic checkpoint")->required();
  app.add_option("--texts", arguments.files.texts, "Files of token sequences")->required();
  app.add_option("--tokens-max", arguments.files.tokens_max, "Of all texts");
  app.add_option("--chunk-tokens", arguments.chunk_tokens, "Of one gather")->check(CLI::Range(1, 1 << 20));
  app.add_option("--pairs", arguments.pairs, "Repetitions")->check(CLI::Range(1, 1000));
  app.add_flag("--growth", arguments.growth, "As the rows in use grow");
  app.add_flag("--hash", arguments.hash, "Row ids instead of rows");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = engram::Run(arguments);
  if (!status.ok()) std::fprintf(stderr, "gather_bench: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
