#include "shard/in_process_job.h"

#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/files/errors.h"
#include "shard/front_engine.h"
#include "shard/in_process_collective.h"
#include "shard/loaded_rank.h"
#include "shard/worker.h"

namespace engram {
namespace {

uint64_t BytesOfAll(const Geometry& geometry, int ranks) {
  uint64_t bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) bytes += Shard::BytesOf(geometry, rank, ranks);
  return bytes;
}

// The threads of ranks > 0. Destruction closes the group, so that they end, and joins them.
class WorkerThreads {
 public:
  WorkerThreads(const Checkpoint& checkpoint, const EngineOptions& options, int ranks)
      : checkpoint_(checkpoint),
        options_(options),
        group_(std::make_shared<InProcessGroup>(ranks)),
        meter_(BytesOfAll(checkpoint.geometry, ranks), options.progress, DeadlineAfter(options.load_timeout),
               options.note) {}

  ~WorkerThreads() {
    group_->Close();
    for (std::thread& thread : threads_) thread.join();
  }

  absl::Status Run() {
    try {
      for (int rank = 1; rank < group_->ranks(); ++rank) {
        threads_.emplace_back([this, rank] { RunRank(rank); });
      }
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot start a thread for each of ", group_->ranks(), " shards: ", error.what()));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<InProcessGroup>& group() const { return group_; }
  LoadMeter& meter() { return meter_; }

 private:
  void RunRank(int rank) {
    InProcessCollective collective(group_, rank);
    const absl::StatusOr<LoadedRank> loaded = LoadRank(collective, checkpoint_, options_, meter_);
    if (loaded.ok() && AnswerRounds(collective, *loaded->combine, options_).ok()) return;
    group_->Close();  // whoever waits for this rank shall not wait long
  }

  const Checkpoint& checkpoint_;
  const EngineOptions options_;
  const std::shared_ptr<InProcessGroup> group_;
  LoadMeter meter_;
  std::vector<std::thread> threads_;
};

// The front end's engine, and the threads of all other ranks.
class InProcessEngine : public Engine {
 public:
  static absl::StatusOr<std::unique_ptr<Engine>> Make(const Checkpoint& checkpoint, const EngineOptions& options,
                                                      int ranks) {
    std::unique_ptr<InProcessEngine> engine(new InProcessEngine(checkpoint, options, ranks));
    ENGRAM_RETURN_IF_ERROR(engine->workers_.Run());
    ENGRAM_ASSIGN_OR_RETURN(LoadedRank loaded,
                            LoadRank(engine->collective_, checkpoint, options, engine->workers_.meter()));
    engine->front_ = std::make_unique<FrontEngine>(engine->collective_, std::move(loaded), options, nullptr);
    return engine;
  }

  absl::Status Gather(absl::Span<const RowBlock> blocks) override { return front_->Gather(blocks); }
  absl::Status Begin(absl::Span<const RowBlock> blocks) override { return front_->Begin(blocks); }
  absl::Status Finish() override { return front_->Finish(); }
  int rounds_in_flight_max() const override { return front_->rounds_in_flight_max(); }
  absl::Status PinReplyMemory(absl::Span<std::byte> memory) override { return front_->PinReplyMemory(memory); }
  ReplyMemory reply_memory() const override { return front_->reply_memory(); }
  absl::Status Heartbeat() override { return front_->Heartbeat(); }
  absl::Status Stop() override { return front_->Stop(); }

 private:
  InProcessEngine(const Checkpoint& checkpoint, const EngineOptions& options, int ranks)
      : workers_(checkpoint, options, ranks), collective_(workers_.group(), 0) {}

  WorkerThreads workers_;
  InProcessCollective collective_;
  std::unique_ptr<FrontEngine> front_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> InProcessJob::Start(const Checkpoint& checkpoint,
                                                            const EngineOptions& options) {
  return InProcessEngine::Make(checkpoint, options, ranks_);
}

absl::Status InProcessJob::Serve(const Checkpoint&, const EngineOptions&) {
  return absl::FailedPreconditionError("Serve on rank 0: the front end calls Start");
}

void InProcessJob::Abort(int exit_code) { _exit(exit_code); }

}  // namespace engram
