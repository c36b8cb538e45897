#include "shard/mpi_runtime.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "shard/mpi_check.h"
#include "shard/mpi_collective.h"
#include "shard/watchdog.h"

namespace engram {
namespace {

class Runtime : public MpiRuntime {
 public:
  Runtime(std::unique_ptr<MpiCollective> collective, absl::Duration finish_timeout)
      : collective_(std::move(collective)), finish_timeout_(finish_timeout) {}

  // After a lost rank requests are still open on the collective's resources: they are left to the end of the process.
  ~Runtime() override { (void)(finished_ ? nullptr : collective_.release()); }

  Collective& collective() override { return *collective_; }

  void Finish() override {
    const Watchdog watchdog("MPI_Finalize", finish_timeout_);
    collective_->Free();
    (void)MPI_Finalize();
    finished_ = true;
  }

 private:
  std::unique_ptr<MpiCollective> collective_;
  const absl::Duration finish_timeout_;
  bool finished_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MpiRuntime>> MpiRuntime::Join(const MpiOptions& options) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) return absl::FailedPreconditionError("MPI was joined before in this process");
  const Watchdog watchdog("joining the MPI job", options.join_timeout);
  int provided = MPI_THREAD_SINGLE;
  // The engine thread alone speaks to MPI, but is not the program's first thread.
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
  if (provided < MPI_THREAD_FUNNELED) return absl::FailedPreconditionError("this MPI does not allow further threads");
  ENGRAM_RETURN_IF_MPI_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  ENGRAM_ASSIGN_OR_RETURN(std::unique_ptr<MpiCollective> collective,
                          MpiCollective::Create(options.share_memory, options.part_bytes_max));
  return std::make_unique<Runtime>(std::move(collective), options.finish_timeout);
}

void MpiRuntime::Abort(int exit_code) {
  static std::atomic<bool> aborting{false};
  if (!aborting.exchange(true)) {
    // MPI_Abort from a thread that is not the engine's, or with a broken transport, may not return: leave all the same.
    std::thread([exit_code] {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      _exit(exit_code);
    }).detach();
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
  }
  for (;;) pause();
}

}  // namespace engram
