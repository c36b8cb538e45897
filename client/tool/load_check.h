// Compares answers of `engram load` with what the files hold.

#ifndef ENGRAM_CLIENT_TOOL_LOAD_CHECK_H_
#define ENGRAM_CLIENT_TOOL_LOAD_CHECK_H_

#include "client/load/answer_checks.h"
#include "client/tool/comparer.h"
#include "client/tool/oracle.h"
#include "engram/v1/engram.pb.h"

namespace engram {

// `oracle` must outlive it. Segments that were refused are passed over: they are counted as errors. For one thread.
AnswerCheck MakeAnswerCheck(const Oracle& oracle, v1::RowFormat format, ComparerOptions options);

}  // namespace engram

#endif  // ENGRAM_CLIENT_TOOL_LOAD_CHECK_H_
