#include "client/model_geometry.h"

#include "absl/strings/str_cat.h"

namespace engram {

absl::StatusOr<Geometry> GeometryOf(const v1::Model& model) {
  const v1::Geometry& from = model.geometry();
  Geometry geometry;
  geometry.layer_ids.assign(from.layer_ids().begin(), from.layer_ids().end());
  geometry.rows.assign(from.rows().begin(), from.rows().end());
  geometry.max_ngram_size = from.max_ngram_size();
  geometry.heads = from.heads();
  geometry.head_dim = from.head_dim();
  geometry.vocab_size = from.vocab_size();
  geometry.compressed_vocab_size = from.compressed_vocab_size();
  if (absl::Status status = geometry.Validate(); !status.ok()) {
    return absl::InternalError(absl::StrCat("the server announces an invalid geometry: ", status.message()));
  }
  if (from.columns() != geometry.columns() || from.packed_row_bytes() != geometry.packed_row_bytes()) {
    return absl::InternalError(absl::StrCat("the server announces ", from.columns(), " columns and ",
                                            from.packed_row_bytes(), " packed row bytes; its geometry has ",
                                            geometry.columns(), " and ", geometry.packed_row_bytes()));
  }
  return geometry;
}

v1::Geometry ProtoOf(const Geometry& geometry) {
  v1::Geometry proto;
  proto.mutable_layer_ids()->Add(geometry.layer_ids.begin(), geometry.layer_ids.end());
  proto.mutable_rows()->Add(geometry.rows.begin(), geometry.rows.end());
  proto.set_max_ngram_size(geometry.max_ngram_size);
  proto.set_heads(geometry.heads);
  proto.set_head_dim(geometry.head_dim);
  proto.set_vocab_size(geometry.vocab_size);
  proto.set_compressed_vocab_size(geometry.compressed_vocab_size);
  proto.set_columns(geometry.columns());
  proto.set_packed_row_bytes(geometry.packed_row_bytes());
  return proto;
}

}  // namespace engram
