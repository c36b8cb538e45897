// Rows kept in Redis, and how fast they come back.

#ifndef ENGRAM_TESTS_BENCH_REDIS_ROWS_H_
#define ENGRAM_TESTS_BENCH_REDIS_ROWS_H_

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench_input.h"
#include "row_check.h"

namespace engram {

// One connection to a redis-server on 127.0.0.1. A key is 8 bytes: the layer's index and the row. Not thread-safe.
class RedisRows {
 public:
  // `input` must outlive it. UNAVAILABLE with what hiredis says.
  static absl::StatusOr<std::unique_ptr<RedisRows>> Connect(const BenchInput& input, int port);

  // Sets every row that the texts reach, packed. Returns how many keys there are.
  absl::StatusOr<uint64_t> Fill();

  // Tokens a second: for each token of a step one MGET of its rows of all layers, all MGETs of a step written before
  // the first answer is read. Row ids are known beforehand: hashing costs Redis nothing here.
  absl::StatusOr<double> Measure(uint32_t tokens, double seconds);

  uint64_t rows_checked() const { return check_.rows(); }

 private:
  struct Closer {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Closer>;

  RedisRows(const BenchInput& input, redisContext* context);
  absl::StatusOr<Reply> NextReply();
  absl::Status Set(uint64_t key, std::vector<std::byte>& row);
  void AskToken(uint64_t token);
  absl::Status CheckReply(uint64_t token, const redisReply& reply, bool compare);
  absl::Status Error() const;

  const BenchInput& input_;
  const std::unique_ptr<redisContext, Closer> context_;
  std::vector<uint64_t> keys_;  // [tokens, layers, K]
  const size_t keys_of_token_;
  std::vector<const char*> words_;  // of one MGET
  std::vector<size_t> word_bytes_;
  RowCheck check_;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_BENCH_REDIS_ROWS_H_
