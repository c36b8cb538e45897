#include "tests/gpu/rank_processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/files/errors.h"
#include "tests/gpu/socket_collective.h"

namespace engram {
namespace {

constexpr int kThrewCode = 3;

// A killed process that waits for a device may need a moment; one that never goes must not hold us.
constexpr absl::Duration kBurialMax = absl::Seconds(20);

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

struct Child {
  pid_t pid = 0;  // 0: has ended
  File output{nullptr, std::fclose};
  RankExit exit;
};

int RunBody(Collective& collective, const std::function<int(Collective&)>& body) {
  try {
    return body(collective);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d threw: %s\n", collective.rank(), error.what());
    return kThrewCode;
  }
}

// The forked process. It leaves by _exit: what its parent registered is the parent's to end.
[[noreturn]] void LiveAsRank(int rank, SocketMesh mesh, int output, pid_t parent,
                             const std::function<int(Collective&)>& body) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kThrewCode);
  (void)dup2(output, STDOUT_FILENO);
  (void)dup2(output, STDERR_FILENO);
  SocketCollective collective(rank, mesh.Take(rank));
  mesh = SocketMesh();
  const int code = RunBody(collective, body);
  std::cout.flush();
  (void)std::fflush(nullptr);
  _exit(code);
}

std::string ReadAll(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char part[4096];
  for (size_t size = 0; (size = std::fread(part, 1, sizeof(part), file)) > 0;) text.append(part, size);
  return text;
}

void KillAll(const std::vector<Child>& children) {
  for (const Child& child : children) {
    if (child.pid != 0) (void)kill(child.pid, SIGKILL);
  }
}

void Bury(Child& child, int status) {
  child.pid = 0;
  child.exit.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!child.exit.how.empty()) return;  // killed by us, for a reason
  child.exit.how =
      WIFEXITED(status) ? absl::StrCat("exit code ", WEXITSTATUS(status)) : absl::StrCat("signal ", WTERMSIG(status));
}

// Whether all have ended by `deadline`.
bool AwaitAll(std::vector<Child>& children, absl::Time deadline) {
  for (;;) {
    bool running = false;
    for (Child& child : children) {
      int status = 0;
      if (child.pid != 0 && waitpid(child.pid, &status, WNOHANG) == child.pid) Bury(child, status);
      running = running || child.pid != 0;
    }
    if (!running || absl::Now() >= deadline) return !running;
    absl::SleepFor(absl::Milliseconds(2));
  }
}

absl::Status Start(std::vector<Child>& children, const std::function<int(Collective&)>& body) {
  ENGRAM_ASSIGN_OR_RETURN(SocketMesh mesh, SocketMesh::Create(static_cast<int>(children.size())));
  (void)std::fflush(nullptr);  // else it is written twice
  std::cout.flush();
  const pid_t parent = getpid();
  for (size_t rank = 0; rank < children.size(); ++rank) {
    children[rank].exit.rank = static_cast<int>(rank);
    children[rank].output.reset(std::tmpfile());
    if (children[rank].output == nullptr)
      return absl::UnavailableError(absl::StrCat("tmpfile: ", std::strerror(errno)));
    const pid_t pid = fork();
    if (pid < 0) return absl::ResourceExhaustedError(absl::StrCat("fork of rank ", rank, ": ", std::strerror(errno)));
    if (pid == 0) {
      LiveAsRank(static_cast<int>(rank), std::move(mesh), fileno(children[rank].output.get()), parent, body);
    }
    children[rank].pid = pid;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<RankExit>> RunRankProcesses(int ranks, absl::Duration limit,
                                                       const std::function<int(Collective&)>& body) {
  std::vector<Child> children(static_cast<size_t>(ranks));
  const absl::Status started = Start(children, body);
  if (!started.ok() || !AwaitAll(children, absl::Now() + limit)) {
    for (Child& child : children) {
      if (child.pid != 0)
        child.exit.how = absl::StrCat("still running after ", absl::FormatDuration(limit), ": killed");
    }
    KillAll(children);
    (void)AwaitAll(children, absl::Now() + kBurialMax);
  }
  ENGRAM_RETURN_IF_ERROR(started);
  std::vector<RankExit> exits;
  for (Child& child : children) {
    child.exit.output = ReadAll(child.output.get());
    exits.push_back(std::move(child.exit));
  }
  return exits;
}

std::string FailuresOf(const std::vector<RankExit>& exits) {
  std::string text;
  for (const RankExit& exit : exits) {
    if (!exit.ok) absl::StrAppend(&text, "rank ", exit.rank, ": ", exit.how, "\n", exit.output, "\n");
  }
  return text;
}

}  // namespace engram
