// The site's own CA, without a gateway: files in a folder.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "command_line.h"
#include "ctl/certificate_authority.h"

namespace sentinel {
namespace {

struct CaAsked {
  std::string folder = "/etc/gpu-sentinel/ca";
  std::string ca_name = "gpu-sentinel";
  int ca_days = 3650;
  std::string out = ".";
  std::string name;
  std::vector<std::string> hosts;
  std::string use;  // empty: as its hosts say
  int days = 825;
};

int Init(const CaAsked& asked, const ControlOptions& options) {
  Status made = CertificateAuthority::Init(asked.folder, asked.ca_name,
                                           std::chrono::days(asked.ca_days), WallNow());
  if (!made.ok()) return Complain(made.error());
  const std::string certificate = asked.folder + "/ca.crt";
  if (options.json) {
    std::printf("%s\n", nlohmann::ordered_json{{"certificate", certificate}}.dump(2).c_str());
    return kExitDone;
  }
  std::printf("%s\n", certificate.c_str());
  std::fprintf(
      stderr,
      "Copy ca.crt to every host (tls.ca). ca.key stays here: who has it can be anybody.\n");
  return kExitDone;
}

int Issue(const CaAsked& asked, const ControlOptions& options) {
  CertificateRequest request;
  request.name = asked.name;
  request.hosts = asked.hosts;
  request.valid = std::chrono::days(asked.days);
  // Who is called by nobody needs no certificate that would pass for one who is.
  if (asked.use.empty() && asked.hosts.empty()) request.use = CertificateUse::kClient;
  if (asked.use == "server") request.use = CertificateUse::kServer;
  if (asked.use == "client") request.use = CertificateUse::kClient;
  auto files = CertificateAuthority(asked.folder).Issue(request, asked.out, WallNow());
  if (!files.ok()) return Complain(files.error());
  if (options.json) {
    nlohmann::ordered_json json = {{"certificate", files->certificate}, {"key", files->key}};
    std::printf("%s\n", json.dump(2).c_str());
    return kExitDone;
  }
  std::printf("%s\n%s\n", files->certificate.c_str(), files->key.c_str());
  std::fprintf(stderr, "Copy both to the host, mode 0600 (tls.certificate, tls.key).\n");
  return kExitDone;
}

}  // namespace

void AddCa(CLI::App* app, CommandLine* line) {
  auto asked = std::make_shared<CaAsked>();
  CLI::App* ca = app->add_subcommand("ca", "The site's own CA, for TLS");
  ca->require_subcommand(1);
  using Run = int (*)(const CaAsked&, const ControlOptions&);
  auto add = [&](const char* name, const char* about, Run run) {
    CLI::App* command = ca->add_subcommand(name, about);
    command->add_option("--folder", asked->folder, "Of the CA")->capture_default_str();
    command->callback([asked, line, run] {
      line->run = [asked, line, run] { return run(*asked, line->options); };
    });
    return command;
  };
  CLI::App* init = add("init", "Make one, once", Init);
  init->add_option("--name", asked->ca_name, "What it is called")->capture_default_str();
  init->add_option("--days", asked->ca_days, "So long it is valid")
      ->check(CLI::Range(1, 36'500))
      ->capture_default_str();
  CLI::App* issue = add("issue", "A certificate and its key for one host", Issue);
  issue->add_option("name", asked->name, "Of the host")->required();
  issue->add_option("--host", asked->hosts, "Name or address it is reached by; more than once");
  issue->add_option("--for", asked->use, "server, client, both (default: client; with --host both)")
      ->check(CLI::IsMember({"server", "client", "both"}));
  issue->add_option("--days", asked->days, "So long it is valid")
      ->check(CLI::Range(1, 36'500))
      ->capture_default_str();
  issue->add_option("--out", asked->out, "Folder for NAME.crt and NAME.key")->capture_default_str();
}

}  // namespace sentinel
