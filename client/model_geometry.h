// The geometry a server announces.

#ifndef ENGRAM_CLIENT_MODEL_GEOMETRY_H_
#define ENGRAM_CLIENT_MODEL_GEOMETRY_H_

#include "absl/status/statusor.h"
#include "engram/v1/engram.pb.h"
#include "model/geometry.h"

namespace engram {

// INTERNAL where the announced geometry is invalid or its columns and row bytes do not follow from the rest.
absl::StatusOr<Geometry> GeometryOf(const v1::Model& model);

// The other way, as servers announce it.
v1::Geometry ProtoOf(const Geometry& geometry);

}  // namespace engram

#endif  // ENGRAM_CLIENT_MODEL_GEOMETRY_H_
