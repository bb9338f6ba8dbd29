// What may ring and where: silences, nodes out of service, what an event would do, who did what.
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "base/length.h"
#include "command_line.h"
#include "ctl/policy_views.h"

namespace sentinel {
namespace {

using Json = nlohmann::json;

constexpr const char* kNodeHost =
    "Host name, or a pattern with * and ?: those that fit and that the gateway has heard of, each "
    "by its own name; to be quoted, so that no shell reads it";

struct SilenceAsked {
  std::string host;
  std::string rack;
  std::string type;
  std::string job;
  std::string length;
  std::string starts;
  std::string comment;
  std::string by = UserName();
  std::string id;
  std::string state = "drained";
};

void AddSilenceAdd(CLI::App* silence, CommandLine* line) {
  auto asked = std::make_shared<SilenceAsked>();
  CLI::App* add = silence->add_subcommand(
      "add", "Nothing that fits rings for a while; it is shown and counted as ever");
  add->add_option("--host", asked->host, "Host, or a pattern with * and ?");
  add->add_option("--rack", asked->rack, "Rack, likewise");
  add->add_option("--type", asked->type, "Event type, likewise");
  add->add_option("--job", asked->job, "Job, likewise");
  add->add_option("--for", asked->length, "How long: 30m, 2h, 1d")->required()->check(CheckLength);
  add->add_option("--starts", asked->starts, "When, such as 2026-08-17T08:30:00Z (default: now)");
  add->add_option("--comment", asked->comment, "Why");
  AddBy(add, &asked->by);
  add->callback([asked, line] {
    if ((asked->host + asked->rack + asked->type + asked->job).empty()) {
      throw CLI::RequiredError("silence add: --host, --rack, --type or --job ('*' fits all)");
    }
    line->run = [asked, line] {
      Json matcher = Json::object();
      if (!asked->host.empty()) matcher["host"] = asked->host;
      if (!asked->rack.empty()) matcher["rack"] = asked->rack;
      if (!asked->type.empty()) matcher["type"] = asked->type;
      if (!asked->job.empty()) matcher["job"] = asked->job;
      Json body{{"matcher", std::move(matcher)}, {"for_ms", ToMillis(*ParseLength(asked->length))}};
      if (!asked->starts.empty()) body["starts_at"] = asked->starts;
      if (!asked->comment.empty()) body["comment"] = asked->comment;
      if (!asked->by.empty()) body["author"] = asked->by;
      return Commands(line->options).Do("/api/v1/silences", std::move(body), "", SilenceView);
    };
  });
}

void AddSilence(CLI::App* app, CommandLine* line) {
  CLI::App* silence = app->add_subcommand("silence", "What shall not ring for a while");
  silence->require_subcommand(1);
  AddSilenceAdd(silence, line);
  silence->add_subcommand("list", "Those that run or are to come, and the last that are over")
      ->callback([line] {
        line->run = [line] {
          return Commands(line->options).Show("/api/v1/silences", "", SilencesView);
        };
      });
  auto asked = std::make_shared<SilenceAsked>();
  CLI::App* expire =
      silence->add_subcommand("expire", "End one now; what still burns is announced");
  expire->add_option("id", asked->id, "Its id")->required();
  AddBy(expire, &asked->by);
  expire->callback([asked, line] {
    line->run = [asked, line] {
      return Commands(line->options)
          .Do("/api/v1/silences/expire", {{"id", asked->id}}, asked->by, ExpiredView);
    };
  });
}

void AddNode(CLI::App* app, CommandLine* line) {
  CLI::App* node = app->add_subcommand("node", "Nodes out of service, which do not ring");
  node->require_subcommand(1);
  auto asked = std::make_shared<SilenceAsked>();
  CLI::App* drain = node->add_subcommand("drain", "Its own faults do not ring any more");
  drain->add_option("host", asked->host, kNodeHost)->required();
  drain->add_option("--as", asked->state, "What is said of it (default: drained)")
      ->check(CLI::IsMember({"drained", "cordoned", "reserved"}));
  drain->add_option("--for", asked->length, "30m, 2h, 1d (default: until undrain)")
      ->check(CheckLength);
  drain->add_option("--comment", asked->comment, "Why");
  AddBy(drain, &asked->by);
  drain->callback([asked, line] {
    line->run = [asked, line] {
      Json body{{"state", asked->state}};
      if (!asked->length.empty()) body["for_ms"] = ToMillis(*ParseLength(asked->length));
      if (!asked->comment.empty()) body["comment"] = asked->comment;
      return Commands(line->options).PutNodes(asked->host, std::move(body), asked->by);
    };
  });
  CLI::App* undrain = node->add_subcommand("undrain", "It is in service again");
  undrain
      ->add_option("host", asked->host,
                   "Host name, or a pattern with * and ?: those that fit and are out of service")
      ->required();
  AddBy(undrain, &asked->by);
  undrain->callback([asked, line] {
    line->run = [asked, line] {
      return Commands(line->options).PutNodes(asked->host, {{"state", "in-service"}}, asked->by);
    };
  });
}

void AddRoute(CLI::App* app, CommandLine* line) {
  CLI::App* route = app->add_subcommand("route", "Where alarms go");
  route->require_subcommand(1);
  CLI::App* test = route->add_subcommand(
      "test", "What this event would do now, and why; nothing is changed by asking");
  auto body = AddEventOptions(test);
  test->callback([body, line] {
    line->run = [body, line] {
      return Commands(line->options)
          .Do("/api/v1/route_test", Json::parse(body->Body(), nullptr, false), "", RouteTestView);
    };
  });
}

}  // namespace

void AddPolicy(CLI::App* app, CommandLine* line) {
  AddRoute(app, line);
  AddSilence(app, line);
  AddNode(app, line);
  auto max = std::make_shared<int>(100);
  CLI::App* audit = app->add_subcommand("audit", "Who did what to the alarms, the last first");
  audit->add_option("--max", *max, "Lines (default: 100)")->check(CLI::Range(1, 1000));
  audit->callback([max, line] {
    line->run = [max, line] {
      return Commands(line->options)
          .Show("/api/v1/audit", "max=" + std::to_string(*max), AuditView);
    };
  });
}

}  // namespace sentinel
