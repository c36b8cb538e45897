#include "client/tool/verify_flags.h"

#include "client/tool/number_option.h"

namespace engram {
namespace {

constexpr size_t kStreamsMax = 1024;
constexpr size_t kInFlightMax = 1024;
constexpr size_t kServersMax = 16;

}  // namespace

void AddTrafficFlags(CLI::App& command, StreamsOptions& options) {
  command.add_option("--seed", options.seed, "Of the random traffic")->check(WholeNumber(0))->capture_default_str();
  command.add_option("--streams", options.streams, "Streams at once")
      ->check(WholeNumber(1, kStreamsMax))
      ->capture_default_str();
  command
      .add_option("--in-flight", options.in_flight, "Steps kept under way on each stream (default: 1 to 8, changing)")
      ->check(WholeNumber(1, kInFlightMax));
  command.add_option("--forks", options.forks, "Share of segments that fork, draft trees among them (default: a few)")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--cancel", options.cancel, "Share of steps cancelled at a random moment")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_flag("--speculative", options.speculative, "Draft blocks of up to 8 tokens, of which a part is rejected");
  command.add_flag("--unique-rows", options.unique_rows, "Have rows that a frame has several times sent once");
  command.add_flag("--shared-memory", options.shared_memory,
                   "Rows come through shared memory: server and client on one host (random traffic only)");
}

void AddServerFlags(CLI::App& command, std::vector<std::string>& servers) {
  auto* group = command.add_option_group("server");
  group->add_option("--server", servers, "HOST:PORT of the server")->expected(1);
  group->add_option("--servers", servers, "HOST:PORT,HOST:PORT...: sequences move between these servers")
      ->delimiter(',')
      ->expected(1, static_cast<int>(kServersMax));
  group->require_option(1);
}

}  // namespace engram
