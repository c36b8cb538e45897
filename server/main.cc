// engram-server: see `engram-server --help`.

#include "server/process.h"

int main(int argc, char** argv) { return engram::RunServerProgram(argc, argv); }
