// Survives touching a mapping whose file was cut short: the kernel answers with SIGBUS.

#ifndef ENGRAM_MODEL_BUS_GUARD_H_
#define ENGRAM_MODEL_BUS_GUARD_H_

#include "absl/functional/function_ref.h"

namespace engram {

// Runs `body`; false when it met a bus error and was left half-way. It is left by a jump, so it and whatever it calls
// must own nothing (no destructor may be pending) and take no lock. Any thread; does not nest. Bus errors outside of a
// body go to the handler that was there before, or end the process as ever.
bool RunGuardedFromBusError(absl::FunctionRef<void()> body);

}  // namespace engram

#endif  // ENGRAM_MODEL_BUS_GUARD_H_
