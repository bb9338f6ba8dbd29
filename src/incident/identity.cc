#include "incident/identity.h"

#include <cinttypes>
#include <cstdio>

#include "base/digest.h"

namespace sentinel {
namespace {

void AppendJsonString(std::string* out, std::string_view text) {
  *out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      *out += escape;
    } else {
      *out += c;
    }
  }
  *out += '"';
}

// Keys are added in alphabetical order.
class CanonicalObject {
 public:
  CanonicalObject& Add(std::string_view key, std::string_view value) {
    Key(key);
    AppendJsonString(&text_, value);
    return *this;
  }
  CanonicalObject& Add(std::string_view key, uint64_t value) {
    Key(key);
    text_ += std::to_string(value);
    return *this;
  }
  CanonicalObject& Add(std::string_view key, int value) {
    Key(key);
    text_ += std::to_string(value);
    return *this;
  }
  std::string Finish() && { return std::move(text_) + "}"; }

 private:
  void Key(std::string_view key) {
    text_ += text_.empty() ? '{' : ',';
    AppendJsonString(&text_, key);
    text_ += ':';
  }
  std::string text_;
};

constexpr size_t kIdDigits = 16;

}  // namespace

std::string EventIdentity(const Event& event, std::string_view rack, std::string_view host) {
  CanonicalObject object;
  if (event.gpu_index && *event.gpu_index >= 0) {
    object.Add("gpu", *event.gpu_index);
  } else if (!event.gpu_uuid.empty()) {
    object.Add("gpu_uuid", event.gpu_uuid);
  }
  object.Add("host", host);
  if (!event.nic.empty()) object.Add("nic", event.nic);
  const bool no_card = !event.gpu_index && event.gpu_uuid.empty();
  if (no_card && !event.pci.empty()) object.Add("pci", event.pci);
  object.Add("rack", rack).Add("type", event.event_type);
  return std::move(object).Finish();
}

std::string HangIdentity(const CommKey& comm, uint64_t epoch) {
  char id[24];
  std::snprintf(id, sizeof id, "0x%016" PRIx64, comm.comm_id);
  CanonicalObject object;
  object.Add("comm", id).Add("epoch", epoch).Add("job", comm.job).Add("nranks", comm.nranks);
  return std::move(object).Finish();
}

std::string IncidentId(std::string_view identity, uint64_t occurrence) {
  std::string name(identity);
  name += '\n';
  name += std::to_string(occurrence);
  return Sha256Hex(name).substr(0, kIdDigits);
}

std::string MessageId(std::string_view identity, uint64_t occurrence, NotifyReason reason,
                      uint64_t sequence, std::string_view terminal) {
  std::string name(identity);
  name += '\n';
  name += std::to_string(occurrence);
  name += '\n';
  name += NotifyReasonName(reason);
  name += '\n';
  name += std::to_string(sequence);
  name += '\n';
  name += terminal;
  return Sha256Hex(name).substr(0, kIdDigits);
}

}  // namespace sentinel
