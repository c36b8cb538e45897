#include "model/bus_guard.h"

#include <csetjmp>
#include <csignal>

namespace engram {
namespace {

// Where this thread goes on after a bus error; null outside of a guarded body.
thread_local sigjmp_buf* volatile way_out = nullptr;

// What was installed before; written once, before our handler can run.
struct sigaction previous_action;

void PassOn(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // blocked until we return, then the end; a signal that somebody sent would not come again by itself
  } else {
    previous_action.sa_handler(signal);
  }
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  PassOn(signal, info, context);
}

bool Install() {
  sigaction(SIGBUS, nullptr, &previous_action);
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

bool RunGuardedFromBusError(absl::FunctionRef<void()> body) {
  static const bool installed = Install();
  (void)installed;
  sigjmp_buf here;
  if (sigsetjmp(here, 1) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  body();
  way_out = nullptr;
  return true;
}

}  // namespace engram
