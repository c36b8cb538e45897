// A released folder: config.json, safetensors, and tokenizer.json or a file of hash constants.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/files/checkpoint_kinds.h"
#include "model/files/config_json.h"
#include "model/files/errors.h"
#include "model/files/safetensors_set.h"
#include "model/files/stated_constants.h"
#include "model/files/tokenizer_json.h"
#include "model/token_map.h"

namespace engram {
namespace {

absl::StatusOr<TableFiles> LocateTable(const Geometry& geometry, size_t layer_index, SafetensorsSet* set) {
  const std::string name = absl::StrCat("layers.", geometry.layer_ids[layer_index], ".engram.embed.");
  const uint64_t rows = geometry.rows[layer_index];
  ENGRAM_ASSIGN_OR_RETURN(const SafetensorsTensor weight, set->Find(absl::StrCat(name, "weight")));
  ENGRAM_RETURN_IF_ERROR(CheckTensor(weight, {"F8_E4M3"}, {rows, geometry.head_dim}));
  ENGRAM_ASSIGN_OR_RETURN(const SafetensorsTensor scale, set->Find(absl::StrCat(name, "scale")));
  ENGRAM_RETURN_IF_ERROR(CheckTensor(scale, {"F8_E8M0", "U8"}, {rows, geometry.scales()}));
  return TableFiles{rows,
                    {weight.path, weight.offset, geometry.head_dim, geometry.head_dim},
                    {scale.path, scale.offset, geometry.scales(), geometry.scales()}};
}

// What config.json and tokenizer.json determine; the parts whose inputs are not there are empty.
struct DerivedConstants {
  std::string folder;
  std::optional<std::vector<int32_t>> token_map;
  std::optional<std::vector<int64_t>> primes;
  std::vector<int64_t> multipliers;
};

absl::StatusOr<std::vector<int32_t>> TokenMapOf(const Geometry& geometry, const std::string& path) {
  ENGRAM_ASSIGN_OR_RETURN(const std::vector<TokenText> tokens, ReadTokenizer(path));
  if (tokens.size() != geometry.vocab_size) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": has ", tokens.size(), " token ids, but vocab_size of config.json is ", geometry.vocab_size));
  }
  auto map = DeriveTokenMap(tokens);
  if (!map.ok()) return Annotate(map.status(), path);
  const int32_t classes = *std::max_element(map->begin(), map->end()) + 1;
  if (static_cast<uint32_t>(classes) != geometry.compressed_vocab_size) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": folds into ", classes,
                                                      " classes, but engram_compressed_vocab_size of config.json is ",
                                                      geometry.compressed_vocab_size));
  }
  return map;
}

// Every prime is at least engram_vocab_size, so the rows bound how far a search for them can go.
absl::Status CheckPrimesDerivable(const std::string& path, const Geometry& geometry, uint64_t engram_vocab_size) {
  for (size_t i = 0; i < geometry.layers(); ++i) {
    if (engram_vocab_size <= geometry.rows[i] / geometry.columns()) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ": engram_num_embeddings of layer ", geometry.layer_ids[i],
                                                   " is ", geometry.rows[i], ", less than ", geometry.columns(),
                                                   " primes from engram_vocab_size ", engram_vocab_size, " up"));
  }
  return absl::OkStatus();
}

absl::StatusOr<DerivedConstants> Derive(const std::string& folder, const ConfigFields& config) {
  DerivedConstants derived;
  derived.folder = folder;
  auto map = TokenMapOf(config.geometry, absl::StrCat(folder, "/tokenizer.json"));
  if (!map.ok() && !absl::IsNotFound(map.status())) return map.status();
  if (map.ok()) derived.token_map = std::move(map).value();
  if (config.engram_vocab_size) {
    const std::string path = absl::StrCat(folder, "/config.json");
    ENGRAM_RETURN_IF_ERROR(CheckPrimesDerivable(path, config.geometry, *config.engram_vocab_size));
    derived.primes = DerivePrimes(config.geometry, *config.engram_vocab_size);
  }
  derived.multipliers = DeriveMultipliers(config.geometry);
  return derived;
}

// Without a file of constants every part must have been derived.
absl::StatusOr<HashConstants> Assemble(DerivedConstants derived, const ConfigFields& config) {
  const std::string path = absl::StrCat(derived.folder, "/config.json");
  if (!derived.token_map) {
    return absl::FailedPreconditionError(absl::StrCat(
        derived.folder, ": has no tokenizer.json to derive the token map from: name a file with --hash-constants"));
  }
  if (!derived.primes) return MissingConfigKey(path, "engram_vocab_size");
  if (!config.pad_token_id) return MissingConfigKey(path, "engram_pad_id or engram_pad_token_id");
  HashConstants constants;
  constants.token_map = std::move(*derived.token_map);
  constants.pad_id = constants.token_map[*config.pad_token_id];
  constants.multipliers = std::move(derived.multipliers);
  constants.offsets = OffsetsOf(config.geometry, *derived.primes);
  constants.primes = std::move(*derived.primes);
  ENGRAM_RETURN_IF_ERROR(Annotate(ValidateHashConstants(config.geometry, constants), path));
  return constants;
}

absl::StatusOr<HashConstants> ReadGiven(const std::string& path, const ConfigFields& config,
                                        const DerivedConstants& derived) {
  ENGRAM_ASSIGN_OR_RETURN(const StatedConstants stated, ReadStatedConstants(path));
  ENGRAM_ASSIGN_OR_RETURN(HashConstants given, ResolveConstants(stated, config.geometry, config.pad_token_id));
  const std::string source = absl::StrCat("what config.json of ", derived.folder, " determines");
  ENGRAM_RETURN_IF_ERROR(CheckAgreement("multipliers", given.multipliers, path, derived.multipliers, source));
  ENGRAM_RETURN_IF_ERROR(derived.primes ? CheckAgreement("primes", given.primes, path, *derived.primes, source)
                                        : CheckPrimesAreARun(config.geometry, given.primes, path));
  if (derived.token_map) {
    const std::vector<int64_t> ours(derived.token_map->begin(), derived.token_map->end());
    ENGRAM_RETURN_IF_ERROR(
        CheckAgreement("token_map", stated.token_map, path, ours, absl::StrCat(derived.folder, "/tokenizer.json")));
  }
  return given;
}

}  // namespace

absl::StatusOr<Checkpoint> OpenSafetensorsCheckpoint(const std::string& folder,
                                                     const std::string& hash_constants_path) {
  Checkpoint checkpoint;
  ENGRAM_ASSIGN_OR_RETURN(const ConfigFields config, ReadConfigFields(absl::StrCat(folder, "/config.json")));
  checkpoint.geometry = config.geometry;
  ENGRAM_ASSIGN_OR_RETURN(SafetensorsSet set, SafetensorsSet::Open(folder));
  for (size_t i = 0; i < config.geometry.layers(); ++i) {
    ENGRAM_ASSIGN_OR_RETURN(TableFiles table, LocateTable(config.geometry, i, &set));
    checkpoint.tables.push_back(std::move(table));
  }
  ENGRAM_ASSIGN_OR_RETURN(DerivedConstants derived, Derive(folder, config));
  if (hash_constants_path.empty()) {
    ENGRAM_ASSIGN_OR_RETURN(checkpoint.constants, Assemble(std::move(derived), config));
  } else {
    ENGRAM_ASSIGN_OR_RETURN(checkpoint.constants, ReadGiven(hash_constants_path, config, derived));
  }
  return checkpoint;
}

}  // namespace engram
