#include "model/files/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace engram {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 16;  // the format needs 3; more only inside fields that are skipped

// Follows the events by depth: 1 is inside the header's object, 2 inside a tensor's, 3 inside its shape or
// data_offsets.
class Handler : public nlohmann::json_sax<Json> {
 public:
  absl::Status status;
  SafetensorsHeader header;

  bool null() override { return Skip("null"); }
  bool boolean(bool) override { return Skip("a boolean"); }
  bool number_integer(number_integer_t) override { return Skip("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return Skip("a fraction"); }
  bool binary(binary_t&) override { return Skip("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3 || list_ == nullptr) return Skip("a number");
    list_->push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ != 2) return Skip("a string");
    if (in_metadata_) {
      header.metadata[field_] = std::move(value);
      return true;
    }
    if (field_ != "dtype") return Skip("a string");
    entry_.dtype = std::move(value);
    return true;
  }

  bool key(string_t& value) override {
    if (depth_ == 1) name_ = std::move(value);
    if (depth_ != 2) return true;
    field_ = std::move(value);
    const bool is_new = fields_.insert(field_).second;
    return is_new || Fail(absl::StrCat(in_metadata_ ? "" : "tensor ", name_, ": ", field_, " occurs twice"));
  }

  bool start_object(std::size_t) override {
    if (depth_ >= 2 && !Skip("an object")) return false;
    if (depth_ == 1 && !BeginEntry()) return false;
    return Descend();
  }

  bool end_object() override {
    if (--depth_ == 1) return EndEntry();
    return true;
  }

  bool start_array(std::size_t) override {
    const bool is_list = depth_ == 2 && !in_metadata_ && (field_ == "shape" || field_ == "data_offsets");
    if (!is_list && !Skip("an array")) return false;
    if (is_list) {
      list_ = field_ == "shape" ? &entry_.shape : &offsets_;
      list_->clear();
      (field_ == "shape" ? has_shape_ : has_offsets_) = true;
    }
    return Descend();
  }

  bool end_array() override {
    if (--depth_ == 2) list_ = nullptr;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    return Fail(absl::StrCat("the header is not JSON (byte ", position, "): ", error.what()));
  }

 private:
  bool Fail(const std::string& message) {
    status = absl::InvalidArgumentError(message);
    return false;
  }

  // A value of a kind that is not read: fine in unknown fields, an error where something else must stand.
  bool Skip(const char* kind) {
    if (depth_ == 0) return Fail(absl::StrCat("the header is ", kind, ", not an object"));
    if (depth_ == 1) return Fail(absl::StrCat("tensor ", name_, ": its entry is ", kind, ", not an object"));
    const bool known = !in_metadata_ && (field_ == "dtype" || field_ == "shape" || field_ == "data_offsets");
    if (known && (depth_ == 2 || list_ != nullptr)) {
      return Fail(absl::StrCat("tensor ", name_, ": ", field_, " holds ", kind));
    }
    return true;
  }

  bool Descend() {
    if (++depth_ > kDepthMax) return Fail(absl::StrCat("the header nests deeper than ", kDepthMax));
    return true;
  }

  bool BeginEntry() {
    in_metadata_ = name_ == "__metadata__";
    if (in_metadata_ && std::exchange(has_metadata_, true)) return Fail("__metadata__ is listed twice");
    fields_.clear();
    entry_ = SafetensorsHeader::Entry();
    offsets_.clear();
    has_shape_ = false;
    has_offsets_ = false;
    return true;
  }

  bool EndEntry() {
    if (std::exchange(in_metadata_, false)) return true;
    if (entry_.dtype.empty()) return Fail(absl::StrCat("tensor ", name_, ": dtype is missing"));
    if (!has_shape_) return Fail(absl::StrCat("tensor ", name_, ": shape is missing"));
    if (!has_offsets_) return Fail(absl::StrCat("tensor ", name_, ": data_offsets is missing"));
    if (offsets_.size() != 2) {
      return Fail(absl::StrCat("tensor ", name_, ": data_offsets has ", offsets_.size(), " numbers, not 2"));
    }
    if (offsets_[0] > offsets_[1]) {
      return Fail(absl::StrCat("tensor ", name_, ": data_offsets begin ", offsets_[0], " > end ", offsets_[1]));
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    const bool is_new = header.entries.emplace(name_, std::move(entry_)).second;
    return is_new || Fail(absl::StrCat("tensor ", name_, ": is listed twice"));
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string name_;
  std::string field_;
  absl::flat_hash_set<std::string> fields_;  // of the entry, so far
  SafetensorsHeader::Entry entry_;
  std::vector<uint64_t> offsets_;
  std::vector<uint64_t>* list_ = nullptr;  // the list being read at depth 3, or none
  bool has_shape_ = false;
  bool has_offsets_ = false;
  bool has_metadata_ = false;
};

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(const std::string& json) {
  Handler handler;
  if (!Json::sax_parse(json, &handler)) return handler.status;
  return std::move(handler.header);
}

}  // namespace engram
