#include "redis_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/tool/synth_rows.h"
#include "model/files/errors.h"
#include "shard/row_plan.h"
#include "stopwatch.h"

namespace engram {
namespace {

constexpr size_t kPipelined = 1024;     // SETs written before their answers are read
constexpr uint64_t kCheckedEvery = 61;  // tokens

}  // namespace

RedisRows::RedisRows(const BenchInput& input, redisContext* context)
    : input_(input),
      context_(context),
      keys_(input.tokens.size() * input.geometry().layers() * input.geometry().columns()),
      keys_of_token_(input.geometry().layers() * input.geometry().columns()),
      words_(keys_of_token_ + 1, "MGET"),
      word_bytes_(keys_of_token_ + 1, sizeof(uint64_t)),
      check_(input) {
  word_bytes_[0] = 4;
  const size_t columns = input.geometry().columns();
  for (size_t layer = 0; layer < input.geometry().layers(); ++layer) {
    const std::vector<uint64_t> ids = input.RowIds(layer);
    for (size_t i = 0; i < ids.size(); ++i) {
      keys_[i / columns * keys_of_token_ + layer * columns + i % columns] = EntryOf(layer, ids[i]);
    }
  }
}

absl::StatusOr<std::unique_ptr<RedisRows>> RedisRows::Connect(const BenchInput& input, int port) {
  redisContext* context = redisConnect("127.0.0.1", port);
  if (context == nullptr) return absl::UnavailableError("no memory for a connection to Redis");
  std::unique_ptr<RedisRows> redis(new RedisRows(input, context));
  ENGRAM_RETURN_IF_ERROR(redis->Error());
  return redis;
}

absl::Status RedisRows::Error() const {
  if (context_->err == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("redis: ", context_->errstr));
}

absl::StatusOr<RedisRows::Reply> RedisRows::NextReply() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK) return Error();
  Reply owned(static_cast<redisReply*>(reply));
  if (owned->type != REDIS_REPLY_ERROR) return owned;
  return absl::UnavailableError(absl::StrCat("redis: ", owned->str));
}

absl::Status RedisRows::Set(uint64_t key, std::vector<std::byte>& row) {
  const Geometry& geometry = input_.geometry();
  auto* bytes = reinterpret_cast<uint8_t*>(row.data());
  SynthRow(SynthLayerKey(input_.seed, geometry.layer_ids[LayerOf(key)]), RowOf(key), {bytes, geometry.head_dim},
           {bytes + geometry.head_dim, geometry.scales()});
  const char* words[] = {"SET", reinterpret_cast<const char*>(&key), reinterpret_cast<const char*>(bytes)};
  const size_t word_bytes[] = {3, sizeof(key), row.size()};
  redisAppendCommandArgv(context_.get(), 3, words, word_bytes);
  return Error();
}

absl::StatusOr<uint64_t> RedisRows::Fill() {
  std::vector<uint64_t> keys = keys_;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<std::byte> row(input_.geometry().packed_row_bytes());
  for (size_t at = 0; at < keys.size(); at += kPipelined) {
    const size_t end = std::min(keys.size(), at + kPipelined);
    for (size_t i = at; i < end; ++i) ENGRAM_RETURN_IF_ERROR(Set(keys[i], row));
    for (size_t i = at; i < end; ++i) ENGRAM_RETURN_IF_ERROR(NextReply().status());
  }
  return keys.size();
}

void RedisRows::AskToken(uint64_t token) {
  for (size_t i = 0; i < keys_of_token_; ++i) {
    words_[i + 1] = reinterpret_cast<const char*>(&keys_[token * keys_of_token_ + i]);
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words_.size()), words_.data(), word_bytes_.data());
}

absl::Status RedisRows::CheckReply(uint64_t token, const redisReply& reply, bool compare) {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != keys_of_token_) {
    return absl::DataLossError("redis: an answer to MGET of another shape");
  }
  for (size_t i = 0; compare && i < reply.elements; ++i) {
    const redisReply& row = *reply.element[i];
    if (row.type != REDIS_REPLY_STRING || row.len != input_.geometry().packed_row_bytes()) {
      return absl::DataLossError("redis: a row is missing");
    }
    const uint64_t key = keys_[token * keys_of_token_ + i];
    ENGRAM_RETURN_IF_ERROR(
        check_.Row(RowForm::kPacked, LayerOf(key), RowOf(key), reinterpret_cast<const std::byte*>(row.str)));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> RedisRows::Measure(uint32_t tokens, double seconds) {
  const Stopwatch watch;
  uint64_t answered = 0;
  uint64_t begin = 0;
  while (watch.Seconds() < seconds) {
    if (begin + tokens > input_.tokens.size()) begin = 0;
    const uint64_t end = std::min<uint64_t>(begin + tokens, input_.tokens.size());
    for (uint64_t token = begin; token < end; ++token) AskToken(token);
    for (uint64_t token = begin; token < end; ++token, ++answered) {
      ENGRAM_ASSIGN_OR_RETURN(const Reply reply, NextReply());
      ENGRAM_RETURN_IF_ERROR(CheckReply(token, *reply, answered % kCheckedEvery == 0));
    }
    begin = end;
  }
  return static_cast<double>(answered) / watch.Seconds();
}

}  // namespace engram
