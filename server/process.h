// engram-server as a process: command line, logging, joining the job, and with which exit code it ends.

#ifndef ENGRAM_SERVER_PROCESS_H_
#define ENGRAM_SERVER_PROCESS_H_

namespace engram {

// Everything main does. Returns the exit code (see process_exit.h). Call once, on the main thread, which becomes the
// engine thread of its rank.
int RunServerProgram(int argc, char** argv);

}  // namespace engram

#endif  // ENGRAM_SERVER_PROCESS_H_
