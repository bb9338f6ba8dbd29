#include "gateway/output_config.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "http/key_file.h"
#include "http/tls.h"
#include "signal/webhook_signature.h"

namespace sentinel {
namespace {

constexpr int64_t kTimeoutMinMs = 100;
constexpr int64_t kTimeoutMaxMs = 60'000;
constexpr int64_t kRenewMinMs = 1000;
constexpr int64_t kRenewMaxMs = 3'600'000;
constexpr const char* kAlertsPath = "/api/v2/alerts";

Result<Severity> ToldLevel(const std::string& name) {
  for (Severity level : {Severity::kP0, Severity::kP1, Severity::kNotice}) {
    if (SeverityName(level) == name) return level;
  }
  return Error{ErrorCode::kInvalidArgument, "one of P0, P1, NOTICE is expected"};
}

// What an Alertmanager takes as a label's name.
bool IsLabelName(const std::string& name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

void ReadCommon(TomlReader* reader, std::vector<OutputConfig>* outputs, OutputConfig* output) {
  OutputSettings& settings = output->settings;
  reader->Name("name", &settings.name);
  reader->Parsed("url", ParseHttpUrl, &settings.post.url);
  reader->AbsolutePath("ca_file", &output->ca_file);
  reader->Look("ca_file", output->ca_file);
  reader->Parsed("level", ToldLevel, &settings.level);
  reader->Millis("timeout_ms", &settings.post.attempt_timeout, kTimeoutMinMs, kTimeoutMaxMs);
  settings.post.connect_timeout =
      std::min(settings.post.connect_timeout, settings.post.attempt_timeout);
  if (settings.name.empty()) reader->Wrong("name", "it is missing");
  if (settings.post.url.endpoint.host.empty()) reader->Wrong("url", "it is missing");
  if (!output->ca_file.empty() && !settings.post.url.endpoint.tls) {
    reader->Wrong("ca_file", "nobody shows a certificate to an http:// url: make it https://");
  }
  for (const OutputConfig& other : *outputs) {
    if (other.settings.name == settings.name) reader->Wrong("name", "it is taken already");
  }
  if (outputs->size() == kOutputsMax) {
    reader->Wrong("name", "more than " + std::to_string(kOutputsMax) + " receivers");
  }
}

void ReadWebhook(TomlReader* reader, std::vector<OutputConfig>* outputs) {
  OutputConfig output;
  ReadCommon(reader, outputs, &output);
  reader->File("secret_file", &output.secret_file);
  if (output.secret_file.empty()) {
    reader->Wrong("secret_file",
                  "it is missing: the file with the whsec_ secret that messages to it are signed "
                  "with");
  }
  outputs->push_back(std::move(output));
}

void ReadAlertmanager(TomlReader* reader, std::vector<OutputConfig>* outputs) {
  OutputConfig output;
  OutputSettings& settings = output.settings;
  settings.kind = OutputKind::kAlertmanager;
  ReadCommon(reader, outputs, &output);
  reader->Names("labels", &settings.labels);
  reader->Millis("renew_ms", &settings.renew_every, kRenewMinMs, kRenewMaxMs);
  for (const auto& [name, value] : settings.labels) {
    if (!IsLabelName(name)) reader->Wrong("labels", "'" + name + "' is no name of a label");
  }
  HttpUrl& url = settings.post.url;
  if (!url.query.empty()) reader->Wrong("url", "a query cannot stand before /api/v2/alerts");
  while (url.path.ends_with('/')) url.path.pop_back();
  if (url.path.ends_with(kAlertsPath)) {
    reader->Wrong("url", "its base is expected; /api/v2/alerts is added to it");
  }
  url.path += kAlertsPath;
  outputs->push_back(std::move(output));
}

}  // namespace

void ReadOutputs(TomlReader* reader, std::vector<OutputConfig>* outputs) {
  reader->Sections("webhook", [&](TomlReader& table) { ReadWebhook(&table, outputs); });
  reader->Sections("alertmanager", [&](TomlReader& table) { ReadAlertmanager(&table, outputs); });
}

Result<std::vector<OutputSettings>> LoadOutputs(const std::vector<OutputConfig>& outputs) {
  std::vector<OutputSettings> loaded;
  std::map<std::string, std::shared_ptr<TlsContext>> trusts;  // by CA file
  for (const OutputConfig& output : outputs) {
    OutputSettings settings = output.settings;
    if (!output.secret_file.empty()) {
      std::string text = TRY(ReadOwnersFile(output.secret_file));
      settings.post.secrets = TRY(ParseWebhookSecrets(text, output.secret_file));
    }
    if (settings.post.url.endpoint.tls) {
      std::shared_ptr<TlsContext>& trust = trusts[output.ca_file];
      if (trust == nullptr) trust = TRY(TlsContext::ForNamedServers(output.ca_file));
      settings.post.tls = trust;
    }
    loaded.push_back(std::move(settings));
  }
  return loaded;
}

}  // namespace sentinel
