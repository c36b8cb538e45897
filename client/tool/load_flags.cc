#include "client/tool/load_flags.h"

#include "client/tool/number_option.h"

namespace engram {
namespace {

constexpr uint64_t kTokensMax = uint64_t{1} << 24;

void AddShape(CLI::App& command, LoadFlags& flags) {
  LoadOptions& options = flags.options;
  command
      .add_option(
          "--profile", flags.profile,
          "decode: 1 token a segment; prefill: --tokens a step; mixed: every second stream prefill; speculative: "
          "blocks of 6 with rollback; replay: the steps of --replay")
      ->check(CLI::IsMember({"decode", "prefill", "mixed", "speculative", "replay"}))
      ->capture_default_str();
  command.add_option("--streams", options.streams, "Connections")
      ->check(WholeNumber(1, kStreamsMax))
      ->capture_default_str();
  command.add_option("--sessions", options.sessions, "Sessions, spread over the streams (default: 256 at least)")
      ->check(WholeNumber(1, kSessionsMax));
  command
      .add_option("--in-flight", flags.in_flight, "Steps under way on a stream at most (default: 1; with --rate 64)")
      ->check(WholeNumber(1, kStepsInFlightMax));
  command.add_option("--batch", options.batch, "Segments of a decode or speculative step")
      ->check(WholeNumber(1, 65536))
      ->capture_default_str();
  command.add_option("--tokens", options.tokens, "Tokens of a prefill step")
      ->check(WholeNumber(1, kTokensMax))
      ->capture_default_str();
  command
      .add_option("--session-tokens", options.session_tokens,
                  "A session is closed and begun anew after at most so many (default: 4096, or 8 prefill steps)")
      ->check(WholeNumber(1));
  command.add_flag("--shared-memory", options.shared_memory,
                   "Rows come through shared memory: server and client on one host, shared_memory.enabled there");
  command
      .add_option("--segment-prefix", options.segment_prefix,
                  "Of shared memory: what its names begin with, as the server's shared_memory.name_prefix")
      ->capture_default_str();
  command.add_option("--format", flags.format, "Row format: packed, bf16 or hash_ids")->capture_default_str();
  command.add_flag("--unique-rows", options.unique_rows,
                   "Have rows that a frame has several times sent once (docs/dedup.md)");
}

void AddPace(CLI::App& command, LoadFlags& flags) {
  command.add_option("--rate", flags.rate, "Open loop: steps a second, all streams together, whatever the server does");
  command
      .add_option("--arrival", flags.arrival,
                  "Of an open loop: poisson (default) or fixed; recorded: a replay at its recorded times")
      ->check(CLI::IsMember({"poisson", "fixed", "recorded"}));
  command
      .add_option(
          "--due-max", flags.options.due_max,
          "Open loop: intended starts that may wait, all streams together; further ones are dropped and counted")
      ->check(WholeNumber(1, kDueMax))
      ->capture_default_str();
  command.add_option("--duration", flags.duration, "Measured time, as 30s or 5m (default 10s; a replay: to its end)");
  command.add_option("--warm-up", flags.warm_up, "Time before that, not measured")->capture_default_str();
  command.add_option("--timeout", flags.timeout, "A step not answered in this time has failed")->capture_default_str();
  command.add_option("--seed", flags.options.seed, "Of tokens, arrivals and all other chance")
      ->check(WholeNumber(0))
      ->capture_default_str();
}

void AddContent(CLI::App& command, LoadFlags& flags) {
  command.add_option("--zipf", flags.options.zipf, "Token id t is drawn as 1/(t+1)^S; 0: all alike")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command.add_option("--tokens-from", flags.tokens_from,
                     "File of token ids (JSON lines, or bare ids): runs of its text");
  command.add_option("--replay", flags.replay, "File of steps to send again (docs/load.md); implies --profile replay");
  command.add_option("--record", flags.record, "Write the steps of this run to a file for --replay");
  command
      .add_option("--verify-fraction", flags.options.verify_fraction,
                  "Share of steps whose every byte is compared with the checkpoint's files")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--checkpoint", flags.checkpoint, "For --verify-fraction: the folder or GGUF file it serves");
  command.add_option("--hash-constants", flags.hash_constants, "File with token map, multipliers and primes");
  command.add_option("--cancel-fraction", flags.options.cancel_fraction, "Share of steps cancelled at a random moment")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--reconnect-every", flags.reconnect_every,
                     "Each stream breaks its connection off at random, so often on average, as 5s");
}

void AddOutput(CLI::App& command, LoadFlags& flags) {
  command.add_option("--slo", flags.slo,
                     "Bounds that set the exit code, as p99_ms=5,error_rate=0.001,tokens_per_s=100000");
  command.add_option("--json", flags.json, "Write the report as JSON");
  command.add_option("--html", flags.html, "Write the report as one HTML page");
  command.add_flag("--quiet", flags.quiet, "No progress on the standard error stream");
}

}  // namespace

void AddLoadFlags(CLI::App& command, LoadFlags& flags) {
  command.add_option("--server", flags.options.server, "HOST:PORT of the server")->required();
  AddShape(command, flags);
  AddPace(command, flags);
  AddContent(command, flags);
  AddOutput(command, flags);
}

}  // namespace engram
