#include "http/parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>

namespace sentinel {
namespace {

namespace http = boost::beast::http;
using ErrorCodeOf = boost::beast::error_code;
using BeastView = boost::beast::string_view;

// A peer that announces a long body has not sent it yet: this much is set aside, the rest grows.
constexpr size_t kBodyReserve = 4 * 1024;
constexpr size_t kFieldFraming = 4;  // ": " and the end of the line

std::string_view View(BeastView text) { return {text.data(), text.size()}; }

// A field that comes twice is one list, as RFC 9110 has it.
void AddField(HttpHeaders* headers, BeastView name, BeastView value) {
  auto [place, fresh] = headers->try_emplace(std::string(View(name)), View(value));
  if (fresh) return;
  place->second += ", ";
  place->second += View(value);
}

// What both directions share: Beast's push parser into plain strings.
template <bool kIsRequest>
class Collector : public http::basic_parser<kIsRequest> {
 public:
  explicit Collector(const ParserLimits& limits) {
    this->header_limit(static_cast<uint32_t>(limits.header_bytes_max));
    this->body_limit(limits.body_bytes_max);
    this->eager(true);
    header_bytes_left_ = limits.header_bytes_max;
  }

  HttpHeaders headers;
  std::string body;
  bool expects_continue = false;

 protected:
  void Spend(size_t bytes, ErrorCodeOf& error) {
    if (bytes > header_bytes_left_) error = http::error::header_limit;
    header_bytes_left_ -= std::min(bytes, header_bytes_left_);
  }

  void on_field_impl(http::field name, BeastView name_text, BeastView value,
                     ErrorCodeOf& error) override {
    Spend(name_text.size() + value.size() + kFieldFraming, error);
    if (name == http::field::expect) {
      expects_continue = boost::beast::iequals(value, "100-continue");
    }
    AddField(&headers, name_text, value);
  }
  void on_header_impl(ErrorCodeOf&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>& length, ErrorCodeOf&) override {
    if (length) body.reserve(std::min<size_t>(*length, kBodyReserve));
  }
  size_t on_body_impl(BeastView bytes, ErrorCodeOf&) override {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(uint64_t, BeastView, ErrorCodeOf&) override {}
  size_t on_chunk_body_impl(uint64_t, BeastView bytes, ErrorCodeOf&) override {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(ErrorCodeOf&) override {}

 private:
  size_t header_bytes_left_;
};

// An origin-form target, of an absolute-form one as proxies send it, less what no server is sent.
std::string_view OriginForm(std::string_view target) {
  if (target.starts_with("http://") || target.starts_with("https://")) {
    size_t slash = target.find('/', target.find("//") + 2);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  return target.substr(0, target.find('#'));
}

class RequestCollector final : public Collector<true> {
 public:
  // `limits` outlives it.
  explicit RequestCollector(const ParserLimits& limits) : Collector(limits), limits_(limits) {}

  std::string method;
  std::string target;
  int version = 11;

 private:
  void on_request_impl(http::verb, BeastView method_text, BeastView target_text, int http_version,
                       ErrorCodeOf& error) override {
    Spend(method_text.size() + target_text.size(), error);
    method = View(method_text);
    target = View(target_text);
    version = http_version;
    const std::string_view origin = OriginForm(target);
    auto own = limits_.body_bytes_max_of.find(origin.substr(0, origin.find('?')));
    if (own != limits_.body_bytes_max_of.end()) this->body_limit(own->second);
  }
  void on_response_impl(int, BeastView, int, ErrorCodeOf&) override {}

  const ParserLimits& limits_;
};

class ResponseCollector final : public Collector<false> {
 public:
  using Collector::Collector;

  int status = 0;

 private:
  void on_request_impl(http::verb, BeastView, BeastView, int, ErrorCodeOf&) override {}
  void on_response_impl(int code, BeastView, int, ErrorCodeOf&) override { status = code; }
};

// One step of either parser. Beast takes the fields in one by one and bounds only the one it is at,
// so the header as a whole is counted: by field in the collector, and here by what was read of it.
template <typename C>
ParseState Step(C& collector, const ParserLimits& limits, size_t* header_bytes,
                std::string_view bytes, size_t* consumed) {
  ErrorCodeOf error;
  bool in_header = !collector.is_header_done();
  *consumed = collector.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (error == http::error::header_limit) return ParseState::kHeaderTooLong;
  if (error == http::error::body_limit) return ParseState::kBodyTooLong;
  if (in_header && !collector.is_header_done()) {
    *header_bytes += *consumed;
    size_t waiting = bytes.size() - *consumed;
    if (*header_bytes + waiting > limits.header_bytes_max) return ParseState::kHeaderTooLong;
  }
  if (error && error != http::error::need_more) return ParseState::kBad;
  return collector.is_done() ? ParseState::kDone : ParseState::kMore;
}

void SplitTarget(std::string_view target, HttpRequest* request) {
  target = OriginForm(target);
  size_t question = target.find('?');
  request->path = target.substr(0, question);
  if (question != std::string_view::npos) request->query = target.substr(question + 1);
}

}  // namespace

class RequestParser::Impl {
 public:
  explicit Impl(ParserLimits limits) : limits_(std::move(limits)) { Reset(); }

  void Reset() {
    collector_.emplace(limits_);
    header_bytes_ = 0;
  }

  ParserLimits limits_;
  std::optional<RequestCollector> collector_;
  size_t header_bytes_ = 0;
};

RequestParser::RequestParser(ParserLimits limits)
    : impl_(std::make_unique<Impl>(std::move(limits))) {}
RequestParser::~RequestParser() = default;

ParseState RequestParser::Feed(std::string_view bytes, size_t* consumed) {
  return Step(*impl_->collector_, impl_->limits_, &impl_->header_bytes_, bytes, consumed);
}

size_t RequestParser::body_bytes() const { return impl_->collector_->body.size(); }

bool RequestParser::ContinueIsDue() const {
  const RequestCollector& collector = *impl_->collector_;
  return collector.expects_continue && collector.version >= 11 && collector.is_header_done() &&
         !collector.is_done() && collector.body.empty();
}

bool RequestParser::keep_alive() const { return impl_->collector_->keep_alive(); }
bool RequestParser::http11() const { return impl_->collector_->version >= 11; }

HttpRequest RequestParser::Take() {
  RequestCollector& collector = *impl_->collector_;
  HttpRequest request;
  request.method = std::move(collector.method);
  SplitTarget(collector.target, &request);
  request.headers = std::move(collector.headers);
  request.body = std::move(collector.body);
  impl_->Reset();
  return request;
}

class ResponseParser::Impl {
 public:
  Impl(ParserLimits limits, bool head) : limits_(std::move(limits)), head_(head) { Reset(); }

  void Reset() {
    collector_.emplace(limits_);
    collector_->skip(head_);
    header_bytes_ = 0;
  }

  ParserLimits limits_;
  bool head_;
  std::optional<ResponseCollector> collector_;
  size_t header_bytes_ = 0;
  int status_ = 0;
};

ResponseParser::ResponseParser(ParserLimits limits, bool head)
    : impl_(std::make_unique<Impl>(std::move(limits), head)) {}
ResponseParser::~ResponseParser() = default;

ParseState ResponseParser::Feed(std::string_view bytes, size_t* consumed) {
  *consumed = 0;
  for (;;) {
    size_t step = 0;
    ParseState state = Step(*impl_->collector_, impl_->limits_, &impl_->header_bytes_,
                            bytes.substr(*consumed), &step);
    *consumed += step;
    const ResponseCollector& collector = *impl_->collector_;
    // A body that announces itself too long is refused while the header is read.
    const bool whole_header = collector.is_header_done() || state == ParseState::kBodyTooLong;
    if (whole_header && collector.status / 100 != 1) impl_->status_ = collector.status;
    bool interim = state == ParseState::kDone && collector.status / 100 == 1;
    if (!interim) return state;
    impl_->Reset();
    if (*consumed == bytes.size()) return ParseState::kMore;
  }
}

ParseState ResponseParser::FeedEnd() {
  if (!impl_->collector_->got_some()) return ParseState::kBad;
  ErrorCodeOf error;
  impl_->collector_->put_eof(error);
  return error ? ParseState::kBad : ParseState::kDone;
}

int ResponseParser::status() const { return impl_->status_; }

HttpResponse ResponseParser::Take() {
  ResponseCollector& collector = *impl_->collector_;
  HttpResponse response;
  response.status = collector.status;
  response.headers = std::move(collector.headers);
  auto type = response.headers.find("Content-Type");
  response.content_type = type == response.headers.end() ? std::string() : type->second;
  response.body = std::move(collector.body);
  return response;
}

}  // namespace sentinel
