// The wire under a fuzzed stream, and the client at its other end.

#ifndef ENGRAM_TESTS_FUZZ_FUZZ_TRANSPORT_H_
#define ENGRAM_TESTS_FUZZ_FUZZ_TRANSPORT_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/stream_call.h"
#include "tests/fuzz/answer_check.h"
#include "tests/fuzz/fuzz_input.h"

namespace engram {

// Of a status that ends a call: with more, HTTP/2 headers grow past what clients accept.
inline constexpr size_t kStatusBytesMax = 2560;

// The client's end of one stream. Messages leave when the input says so.
class FuzzTransport final : public StreamTransport {
 public:
  explicit FuzzTransport(const v1::Limits& limits) : answers(limits) {}

  void Read() override {
    ENGRAM_REQUIRE(!reading && !finished, "one read at a time");
    reading = true;
  }
  void Write(OutMessage message) override {
    ENGRAM_REQUIRE(!writing.has_value() && !finished, "one write at a time");
    std::string bytes = message.head;
    bytes.append(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
    answers.Got(bytes);
    writing = std::move(message);
  }
  void Finish(const absl::Status& status) override {
    ENGRAM_REQUIRE(!writing.has_value() && !finished, "finished once, with nothing under way");
    ENGRAM_REQUIRE(status.ok() == status.message().empty() && status.message().size() <= kStatusBytesMax,
                   absl::StrCat("a status that can be sent: ", status.message().size(), " bytes"));
    if (status.ok()) answers.RequireAllAnswered();
    finished = true;
  }

  AnswerCheck answers;
  bool reading = false;
  std::optional<OutMessage> writing;
  bool finished = false;
};

}  // namespace engram

#endif  // ENGRAM_TESTS_FUZZ_FUZZ_TRANSPORT_H_
