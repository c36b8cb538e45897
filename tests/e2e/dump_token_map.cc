// dump_token_map TOKENIZER_JSON: the compressed id of each token id, one a line. For token_map_reference.py.

#include <cstdio>

#include "model/files/tokenizer_json.h"
#include "model/token_map.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dump_token_map TOKENIZER_JSON\n");
    return 2;
  }
  const auto tokens = engram::ReadTokenizer(argv[1]);
  if (!tokens.ok()) {
    std::fprintf(stderr, "%s\n", tokens.status().ToString().c_str());
    return 1;
  }
  const auto token_map = engram::DeriveTokenMap(*tokens);
  if (!token_map.ok()) {
    std::fprintf(stderr, "%s\n", token_map.status().ToString().c_str());
    return 1;
  }
  for (const int32_t id : *token_map) std::printf("%d\n", id);
  return 0;
}
