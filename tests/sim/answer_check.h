// Whether the frames of a step are what the protocol model says.

#ifndef ENGRAM_TESTS_SIM_ANSWER_CHECK_H_
#define ENGRAM_TESTS_SIM_ANSWER_CHECK_H_

#include <string>
#include <vector>

#include "tests/sim/protocol_model.h"

namespace engram {

// Bytes of rows, or of hash ids.
std::string PayloadOf(const v1::StepReply& frame);

// `frames`: all of one step, in order of arrival. Exactly one is the last and says `code`; every result and every row
// is right, the results before the rows, and all rows are there unless `code` says why not. Empty, or what is wrong.
std::string WrongWith(const std::vector<v1::StepReply>& frames, const SimModel& sim, const v1::StepRequest& request,
                      const ModelAnswer& expected, absl::StatusCode code);

// The same of an answer that was cut off by the end of its stream: no frame needs to be there, each must be right.
std::string WrongWithPart(const std::vector<v1::StepReply>& frames, const SimModel& sim, const v1::StepRequest& request,
                          const ModelAnswer& expected);

}  // namespace engram

#endif  // ENGRAM_TESTS_SIM_ANSWER_CHECK_H_
