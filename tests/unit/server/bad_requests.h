// Requests that must be refused, with what is said of each.

#ifndef ENGRAM_TESTS_UNIT_SERVER_BAD_REQUESTS_H_
#define ENGRAM_TESTS_UNIT_SERVER_BAD_REQUESTS_H_

#include "absl/status/status.h"

namespace engram {

inline constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr absl::StatusCode kPrecondition = absl::StatusCode::kFailedPrecondition;
inline constexpr absl::StatusCode kExhausted = absl::StatusCode::kResourceExhausted;
inline constexpr absl::StatusCode kAborted = absl::StatusCode::kAborted;

inline constexpr int kWholeStep = -1;

struct BadRequest {
  const char* name;
  const char*
      request;  // text format; session 7 holds tokens 0..9 at positions 0..9, session 20 has [17, 21) from a seed
  int segment;  // that is refused, or kWholeStep
  absl::StatusCode code;
  const char* message;  // a part of it
};

// The tiny model's constants_digest.
#define DIGEST "cccccccccccccccccccccccccccccccc"

inline constexpr BadRequest kBadRequests[] = {
    {"too_many_segments", "segments {} segments {} segments {} segments {} segments {} segments {}", kWholeStep,
     kExhausted, "segments: 6 of them: segments_max is 5"},
    {"too_many_closes", "close_sessions: [1, 2, 3, 4, 5, 6]", kWholeStep, kExhausted,
     "close_sessions: 6 of them: segments_max is 5"},
    {"too_many_tokens",
     "segments { session_id: 7 token_ids: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] } "
     "segments { token_ids: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] }",
     kWholeStep, kExhausted, "the step has 51 tokens, 0 of them long look-back: step_tokens_max is 50"},
    {"too_much_lookback",
     "segments { session_id: 7 start_pos: 90 token_ids: [1, 1] lookback { token_ids: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1] } } "
     "segments { session_id: 8 start_pos: 90 token_ids: [1, 1] lookback { token_ids: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1] } }",
     kWholeStep, kExhausted, "the step has 51 tokens, 47 of them long look-back: step_tokens_max is 50"},
    {"unknown_layer", "layers: [1, 5]", kWholeStep, kInvalid, "layers[1] = 5: must be an Engram layer (14, 1)"},
    {"layer_index_for_id", "layers: [0]", kWholeStep, kInvalid, "layers[0] = 0: must be an Engram layer"},
    {"layer_past_int", "layers: [4294967295]", kWholeStep, kInvalid, "layers[0] = 4294967295: must be"},
    {"layer_twice", "layers: [14, 1, 14]", kWholeStep, kInvalid, "layers[2] = 14: must be there once"},
    {"unknown_format", "format: 3", kWholeStep, kInvalid, "format = 3: must be ROW_FORMAT_PACKED"},
    {"negative_format", "format: -1", kWholeStep, kInvalid, "format = -1: must be"},
    {"unique_hash_ids", "format: ROW_FORMAT_HASH_IDS unique_rows: true", kWholeStep, kInvalid,
     "unique_rows = true: must be false where format is ROW_FORMAT_HASH_IDS"},
    {"other_table_version", "table_version: 2 segments { session_id: 7 token_ids: [1] }", kWholeStep, kPrecondition,
     "table_version = 2: this server has 3"},
    {"close_zero", "close_sessions: [7, 0]", kWholeStep, kInvalid, "close_sessions[1] = 0: must name a session"},

    {"token_at_vocab_size", "segments { session_id: 7 start_pos: 10 token_ids: [39, 40] }", 0, kInvalid,
     "segments[0].token_ids[1] = 40: must be < vocab_size 40"},
    {"token_minus_one", "segments { session_id: 7 start_pos: 3 token_ids: [4294967295] }", 0, kInvalid,
     "segments[0].token_ids[0] = 4294967295: must be < vocab_size 40"},
    {"token_under_mask_one", "segments { session_id: 7 token_ids: [40, 99] token_mask: \"\\0\\1\" }", 0, kInvalid,
     "segments[0].token_ids[1] = 99: must be < vocab_size 40"},
    {"mask_of_one_for_all", "segments { session_id: 7 token_ids: [1, 2] token_mask: \"\\1\" }", 0, kInvalid,
     "segments[0].token_mask: 1 bytes for 2 tokens: must be empty or one byte a token"},
    {"mask_too_long", "segments { session_id: 7 token_ids: [1] token_mask: \"\\1\\1\" }", 0, kInvalid,
     "segments[0].token_mask: 2 bytes for 1 tokens"},
    {"mask_without_tokens", "segments { session_id: 7 token_mask: \"\\1\" }", 0, kInvalid, "1 bytes for 0 tokens"},
    {"mask_of_two", "segments { session_id: 7 token_ids: [1, 1] token_mask: \"\\1\\2\" }", 0, kInvalid,
     "segments[0].token_mask[1] = 2: must be 0 or 1"},
    {"mask_of_255", "segments { session_id: 7 token_ids: [1] token_mask: \"\\377\" }", 0, kInvalid,
     "segments[0].token_mask[0] = 255: must be 0 or 1"},
    {"mask_of_digits", "segments { session_id: 7 token_ids: [1] token_mask: \"1\" }", 0, kInvalid,
     "segments[0].token_mask[0] = 49: must be 0 or 1"},
    {"gap", "segments { session_id: 7 start_pos: 11 token_ids: [1] }", 0, kPrecondition,
     "segments[0]: start_pos = 11: beyond the length 10 of session 7 (known history [0, 10))"},
    {"rollback_forward", "segments { session_id: 7 start_pos: 11 }", 0, kPrecondition, "known history [0, 10)"},
    {"gap_in_an_unknown_session", "segments { session_id: 99 start_pos: 1 token_ids: [1] }", 0, kPrecondition,
     "segments[0]: start_pos = 1: session 99 is unknown (never written, closed, or evicted) and has length 0"},
    {"before_the_base", "segments { session_id: 20 start_pos: 19 token_ids: [1] }", 0, kPrecondition,
     "segments[0]: start_pos = 19: look-back needs position 16, before the known history [17, 21) of session 20"},
    {"stateless_without_seed", "segments { start_pos: 1 token_ids: [1] }", 0, kPrecondition,
     "segments[0]: start_pos = 1: session_id 0 keeps no history"},
    {"position_overflows",
     "segments { start_pos: 18446744073709551615 token_ids: [1] lookback { token_ids: [1, 2, 3] } }", 0, kInvalid,
     "segments[0].start_pos = 18446744073709551615: with 1 tokens must stay below 2^64"},
    {"session_too_long",
     "segments { session_id: 7 start_pos: 999 token_ids: [1, 2] lookback { token_ids: [1, 2, 3] } }", 0, kExhausted,
     "segments[0]: start_pos + tokens = 1001: a session holds at most 1000 positions (session_tokens_max)"},
    {"session_twice",
     "segments { session_id: 50 token_ids: [1] } segments { session_id: 7 token_ids: [1] start_pos: 99 } "
     "segments { session_id: 7 token_ids: [1] }",
     2, kInvalid, "segments[2].session_id = 7: a session may be in a step once"},

    {"lookback_too_short", "segments { session_id: 7 start_pos: 5 lookback { token_ids: [1, 2] } }", 0, kInvalid,
     "segments[0].lookback.token_ids: 2 tokens: must be at least 3 and at most 5 (start_pos)"},
    {"lookback_empty", "segments { session_id: 7 start_pos: 1 lookback {} }", 0, kInvalid,
     "segments[0].lookback.token_ids: 0 tokens: must be at least 1 and at most 1"},
    {"lookback_too_long", "segments { session_id: 7 start_pos: 2 lookback { token_ids: [1, 2, 3] } }", 0, kInvalid,
     "segments[0].lookback.token_ids: 3 tokens: must be at least 2 and at most 2"},
    {"lookback_token", "segments { session_id: 7 start_pos: 3 lookback { token_ids: [1, 40, 3] } }", 0, kInvalid,
     "segments[0].lookback.token_ids[1] = 40: must be < vocab_size 40"},
    {"lookback_mask", "segments { session_id: 7 start_pos: 1 lookback { token_ids: [1] token_mask: \"\\1\\1\" } }", 0,
     kInvalid, "segments[0].lookback.token_mask: 2 bytes for 1 tokens"},

    {"state_position",
     "segments { session_id: 7 start_pos: 4 state { position: 3 compressed_ids: [1, 2, 3] constants_digest: \"" DIGEST
     "\" } }",
     0, kInvalid, "segments[0].state.position = 3: must equal start_pos 4"},
    {"state_without_digest", "segments { session_id: 7 start_pos: 3 state { position: 3 compressed_ids: [1, 2, 3] } }",
     0, kPrecondition, "segments[0].state.constants_digest = 0 bytes: this server's is 6363"},
    {"state_of_another_server",
     "segments { session_id: 7 start_pos: 1 state { position: 1 compressed_ids: [1] "
     "constants_digest: \"dddddddddddddddddddddddddddddddd\" } }",
     0, kPrecondition, "segments[0].state.constants_digest = 6464"},
    {"state_too_short",
     "segments { session_id: 7 start_pos: 9 state { position: 9 compressed_ids: [1, 2] constants_digest: \"" DIGEST
     "\" } }",
     0, kInvalid, "segments[0].state.compressed_ids: 2 ids: must be 3 at position 9"},
    {"state_too_long",
     "segments { session_id: 7 start_pos: 2 state { position: 2 compressed_ids: [1, 2, 3] constants_digest: \"" DIGEST
     "\" } }",
     0, kInvalid, "segments[0].state.compressed_ids: 3 ids: must be 2 at position 2"},
    {"state_id_at_c",
     "segments { session_id: 7 start_pos: 2 state { position: 2 compressed_ids: [-1, 20] constants_digest: \"" DIGEST
     "\" } }",
     0, kInvalid, "segments[0].state.compressed_ids[1] = 20: must be in [-1, 20)"},
    {"state_id_below_dead",
     "segments { session_id: 7 start_pos: 1 state { position: 1 compressed_ids: [-2] constants_digest: \"" DIGEST
     "\" } }",
     0, kInvalid, "segments[0].state.compressed_ids[0] = -2: must be in [-1, 20)"},

    {"fork_of_nothing", "segments { session_id: 7 fork_from {} }", 0, kInvalid,
     "segments[0].fork_from.session_id = 0: must name a session"},
    {"fork_elsewhere", "segments { session_id: 8 start_pos: 5 fork_from { session_id: 7 position: 4 } }", 0, kInvalid,
     "segments[0].fork_from.position = 4: must equal start_pos 5"},
    {"fork_of_an_unknown_session", "segments { session_id: 7 start_pos: 1 fork_from { session_id: 99 position: 1 } }",
     0, kPrecondition, "segments[0]: fork_from.session_id = 99: unknown"},
    {"fork_of_another_client",
     "segments { session_id: 8 start_pos: 1 fork_from { session_id: 7 position: 1 client_id: \"z\" } }", 0,
     kPrecondition, "segments[0]: fork_from.session_id = 7: unknown"},
    {"fork_beyond", "segments { start_pos: 11 fork_from { session_id: 7 position: 11 } }", 0, kPrecondition,
     "segments[0]: fork_from.position = 11: beyond the length 10 of session 7 (known history [0, 10))"},
    {"fork_before_the_base", "segments { start_pos: 18 fork_from { session_id: 20 position: 18 } }", 0, kPrecondition,
     "segments[0]: fork_from.position = 18: look-back needs position 15, before the known history [17, 21)"},
    {"in_flight_elsewhere", "segments { session_id: 30 start_pos: 1 token_ids: [1] }", 0, kAborted,
     "segments[0]: session 30 has 1 step(s) in flight on another stream"},
};

#undef DIGEST

}  // namespace engram

#endif  // ENGRAM_TESTS_UNIT_SERVER_BAD_REQUESTS_H_
