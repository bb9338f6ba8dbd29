// The part of IncidentBook that goes on under another configuration.
#include <algorithm>
#include <set>
#include <utility>

#include "incident/incident_book.h"

namespace sentinel {

void IncidentBook::Reconfigure(IncidentPolicy policy, Site site, Moment now) {
  site.HearAllOf(site_);
  policy_ = std::move(policy);
  site_ = std::move(site);
  // Looked up anew by the next Advance: whether it is quiet, and what is.
  quiet_changes_.reset();
  reconsider_all_ = true;
  if (!policy_.quiet) quiet_ = false;
  // Hours that were not in force when they ended have left nothing to be told.
  if (digest_told_ && !quiet_) KeepDigestTold(now.wall);

  const std::vector<std::string>& terminals = site_.terminals();
  const std::set<std::string> known(terminals.begin(), terminals.end());
  for (auto& [id, entry] : entries_) ForgetLamps(*entry, known);
  auto gone = [&known](const auto& item) { return !known.contains(item.first); };
  std::erase_if(burning_, gone);
  std::erase_if(announced_p0_, gone);
  std::erase_if(mute_breaks_, gone);
  if (std::erase_if(mutes_, gone) > 0) actions_.mutes_changed = true;

  // The loudest first.
  std::vector<std::string> open;
  for (auto it = open_.rbegin(); it != open_.rend(); ++it) open.push_back(std::get<2>(*it));
  for (const std::string& id : open) WelcomeNewTerminals(*FindEntry(id), now);
}

// Of terminals that there are no more.
void IncidentBook::ForgetLamps(Entry& entry, const std::set<std::string>& known) {
  auto gone = [&known](const auto& lamp) { return !known.contains(lamp.first); };
  if (std::erase_if(entry.lamps, gone) == 0) return;
  for (NotificationRecord& record : entry.incident.notifications) {
    if (record.state != NotificationState::kPending) continue;
    if (known.contains(record.notification.terminal)) continue;
    record.state = NotificationState::kFailed;
    record.error = "the terminal is no longer configured";
  }
  Touch(entry);
}

}  // namespace sentinel
