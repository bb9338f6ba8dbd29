// Verdicts and events in; incidents, and what terminals are to be told, out.
//
// Pure: the caller brings the time and everything that happens, passes the notifications on to an
// outbox and tells what became of them, and keeps the incidents that changed. It knows no socket,
// no disk, no JSON.
//
// Life of an incident: suspected (nobody is told) -> open -> acknowledged -> closed. A debounce
// window runs per identity and terminal from the moment that terminal has *answered*; while
// nothing has been delivered, repeats are counted and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "incident/event_table.h"
#include "incident/explanation.h"
#include "incident/flap_watch.h"
#include "incident/incident_actions.h"
#include "incident/incident_entry.h"
#include "incident/incident_policy.h"
#include "incident/silence_book.h"
#include "incident/site.h"
#include "incident/storm_fold.h"
#include "model/audit.h"
#include "model/event.h"
#include "model/flap.h"
#include "model/incident.h"
#include "model/job.h"
#include "model/silence.h"
#include "model/verdict.h"

namespace sentinel {

// Open incidents; beyond it the least severe and, among those, the oldest is closed as superseded.
constexpr size_t kOpenIncidentsMax = 65'536;
// Closed ones that are remembered; beyond it the oldest of which everybody has been told goes.
constexpr size_t kClosedIncidentsMax = 100;
// Suspicions that came to nothing, remembered for the status page.
constexpr size_t kClearedSuspicionsMax = 20;
// Debounce windows of incidents that have closed; beyond it the oldest is forgotten.
constexpr size_t kWindowsMax = 65'536;
// Hosts with several faulty cards at a time; beyond it each card has a sentence of its own.
constexpr size_t kCardGroupsMax = 1024;
// Closed identities whose number of the last incident is remembered; beyond it the oldest goes.
constexpr size_t kOccurrencesMax = 65'536;

class IncidentBook {
 public:
  using Actions = IncidentActions;
  using Change = IncidentActions::Change;
  using Cancel = IncidentActions::Cancel;

  IncidentBook(IncidentPolicy policy, Site site);
  ~IncidentBook();

  // From here on another policy and site count. What is open stays open with its timers; a terminal
  // that is new is told what burns, one that is gone is forgotten: nothing more is told for it.
  void Reconfigure(IncidentPolicy policy, Site site, Moment now);

  struct EventOutcome {
    bool suppressed = false;  // known already: counted, nobody is told again
    std::string incident;     // its id; empty: it concerns none (a recovery of what is not open)
    bool begun = false;       // this event alone is what that incident consists of: see Rebegin
    uint64_t occurrence = 0;  // of an incident begun
  };
  EventOutcome OnEvent(const Event& event, JobPresence presence, Moment now);
  // The same event once more, where the last OnEvent for it named this incident and severity.
  // Counts it and returns true if OnEvent would do just that; else nothing has happened.
  bool CountRepeat(const std::string& incident, Severity severity, Moment now);

  // The same report once more, under the sender's own name for it: it counts once, and what it
  // holds open goes on.
  void Renew(const Event& event, Moment now);
  // Whether a report that was taken for `incident` before still says how things are: what it says
  // fires is open, what it says has ended is not.
  bool Agrees(const Event& event, const std::string& incident) const;

  // `job`: what is known of the job that stands still. Its size is remembered: it only grows.
  void OnVerdict(const Verdict& verdict, const JobFacts& job, Moment now);
  void OnVerdict(const Verdict& verdict, Moment now) { OnVerdict(verdict, {}, now); }
  // A network port of that host has changed its state: voices about it wait.
  void OnPortEvent(const std::string& host, Moment now);

  // What became of a notification.
  void OnAttempt(const std::string& message);
  void OnDelivered(const std::string& message, Moment now);
  void OnSuperseded(const std::string& message);
  // Given up. `take_over`: by another terminal, for this one may have shown it and may not, or will
  // not have it.
  void OnFailed(const std::string& message, const std::string& error, bool take_over, Moment now);
  // Given up because too many waited: nothing has been attempted.
  void OnShed(const std::string& message, const std::string& error, Moment now);
  void OnAttemptError(const std::string& message, const std::string& error);
  // A receiver other than a terminal has answered to this message about that incident.
  void OnTold(const std::string& incident, const std::string& output, std::string message);

  // Somebody pressed the button at this terminal: the incidents it names are acknowledged, or, if
  // it names none, all that burns there. Returns how many.
  // A press that acknowledges or finds something burning opens a mute of that terminal. One that
  // was `pressed` long ago, for want of somebody to tell, mutes for what is left.
  int Acknowledge(const std::string& terminal, const std::vector<std::string>& incidents,
                  const std::string& by, WallTime pressed, Moment now);

  // The same of a person who is not at a terminal: these incidents are acknowledged on all of them,
  // and no terminal is muted. Returns how many.
  int AcknowledgeAs(const Actor& actor, const std::vector<std::string>& incidents, Moment now);

  // What burns at a terminal, acknowledged or not, the loudest last.
  std::vector<std::string> BurningAt(const std::string& terminal) const;
  bool CriticalBurnsAt(const std::string& terminal) const;  // a P0

  // Until when a terminal is silent, by its name; those that are not are absent.
  const std::map<std::string, Moment>& mutes() const { return mutes_; }
  // How much of that the terminal itself is to be silent for; 0: it is not muted.
  Duration MuteLeft(const std::string& terminal, Instant now) const;
  // From an earlier process; one that is over has no effect.
  void Mute(const std::string& terminal, WallTime until, Moment now);
  // By somebody's command; never longer than a press of the button would mute.
  void MuteAs(const Actor& actor, const std::string& terminal, WallTime until, Moment now);
  // What still burns there is told once, as at the end of any mute.
  void Unmute(const std::string& terminal, Moment now);
  void UnmuteAs(const Actor& actor, const std::string& terminal, Moment now);

  // What a silence covers opens and counts as ever, with its reason (Incident::quiet), and no
  // terminal is told. What burns already goes dark when it begins; what still burns when it ends is
  // announced. See SilenceBook for what is refused.
  Result<Silence> AddSilence(const Actor& actor, Silence silence, Moment now);
  Status EndSilence(const Actor& actor, const std::string& id, Moment now);
  const SilenceBook& silences() const { return silences_; }
  // From an earlier process; before Restore and Rebegin.
  void RestoreSilence(Silence silence, Moment now);
  // Likewise: which sources came and went.
  void RestoreFlaps(const FlapMemory& memory, Moment now);

  // What this event would do now, and why; nothing is changed by asking.
  Explanation Explain(const Event& event, JobPresence presence, Moment now) const;

  // A terminal no longer answers (the others are told, and take over what only it would have
  // shown), or answers again.
  void OnTerminalLost(const std::string& terminal, Moment now);
  void OnTerminalBack(const std::string& terminal, Moment now);
  // A terminal has forgotten what it showed (it was started anew): what burns there is handed out
  // again under its old message ids.
  void OnTerminalForgot(const std::string& terminal, Moment now);
  // Likewise an agent. These incidents of our own have no lease: they last as long as the silence.
  void OnNodeSilent(const std::string& host, Moment now);
  // There is such a host: names that are spoken must not be mistaken for its name.
  void OnHostSeen(const std::string& host) { site_.OnHostSeen(host); }
  void OnNodeBack(const std::string& host, Moment now);

  // Leases, mutes and quiet hours that end, voices that were held back, repeats that are due.
  void Advance(Moment now);
  std::optional<Instant> NextWake() const;
  // The civil clock has been set since Advance last looked: quiet hours are to be looked up anew,
  // though nothing is due.
  bool ClockWasSet(Moment now) const;

  // What `message` has to look like on a terminal that knows one message at a time: it keeps the
  // light of the most severe incident that burns there.
  TerminalMessage Picture(const Notification& notification) const;

  Actions TakeActions();
  // Incidents whose count or lease alone has moved since the last call; at most `max`, the rest
  // next time.
  std::vector<std::string> TakeCounted(size_t max);

  const Incident* Find(const std::string& id) const;
  // Not closed ones, newest first; then, if asked, the closed ones that are remembered.
  std::vector<const Incident*> List(bool with_closed, size_t max) const;
  size_t open() const { return open_.size(); }

  // Takes back what an earlier process kept: open incidents go on, windows go on, pending
  // notifications are handed out again under their old ids. Monotonic instants of another boot
  // than `boot` mean nothing and are rebuilt from wall time; those of the same are right whatever
  // was done to the civil clock.
  void Restore(std::vector<Incident> incidents, const std::string& boot, Moment now);
  // An incident of which an earlier process kept nothing but the event that began it: it begins
  // again, under its old id and with the old ids of its messages. After Restore. Nothing happens
  // if that identity is open.
  void Rebegin(const Event& event, uint64_t occurrence, WallTime at, Moment now);
  // After these and the mutes: `told` is the last digest_told of an earlier process. Where quiet
  // hours have ended since, no longer than kDigestLateMax ago, their digest is told now. Without it
  // nothing is owed.
  void RestoreDigest(std::optional<WallTime> told, Moment now);

 private:
  using Entry = IncidentEntry;
  using Lamp = IncidentLamp;
  using Source = IncidentSource;
  using Alarm = IncidentAlarm;
  using Timer = IncidentTimer;

  enum class Keeping : uint8_t { kNow, kLater, kWithItsEvent };
  // How a message is to sound where and when it is told.
  enum class Voice : uint8_t { kAsItIs, kOnce, kNone };

  Duration LeaseOf(const Entry& entry) const {
    return entry.incident.lease.value_or(policy_.lease);
  }

  // incident_book.cc, incident_events.cc, incident_verdicts.cc: what happens to an incident.
  Entry* FindEntry(const std::string& id);
  Entry* FindOpen(const std::string& identity);
  Entry& Create(std::string identity, Source source, Moment now);
  Entry& Create(std::string identity, Source source, uint64_t occurrence);
  std::string IdentityOf(const Event& event) const;
  Entry& Begin(Entry& entry, const Event& event, Severity severity, Moment at, Moment now);
  void Open(Entry& entry, Severity severity, Moment now);
  void Close(Entry& entry, CloseReason reason, Moment now);
  EventOutcome OnFiring(const Event& event, Severity severity, Moment now);
  EventOutcome OnRecovery(const Event& event, Moment now);
  Entry* FirstOfCards(const Entry& entry, const Event& event, Severity severity, Instant at);
  void DescribeEvent(Entry& entry, const Event& event);
  std::vector<std::string> EndedBy(const Event& event) const;
  void DescribePlace(Incident& incident, const Event& event) const;
  std::string Sentence(const Event& event, const std::string& rack, const std::string& host,
                       const std::set<int>& cards) const;
  std::string SentenceOf(const Entry& entry, const Event& event, const std::string& host) const;
  void PartCards(Entry& entry, Moment now);
  void NameCards(Entry& entry);
  void DescribeVerdict(Entry& entry, const Verdict& verdict);
  Entry* Adopt(const Verdict& verdict);
  Severity JobLevel(Entry& entry, const JobFacts& job, Severity severity) const;
  void Refine(Entry& entry, const Verdict& verdict, Severity severity, const std::string& old_place,
              Moment now);
  // incident_recovery.cc: the first sign of recovery is not believed.
  void HoldRecovery(Entry& entry, Moment now);
  Entry* Relapsed(const Verdict& verdict);
  Entry* Reopenable(const std::string& identity, Moment now);
  void Reopen(Entry& entry, const Event& event, Severity severity, Moment now);
  bool PortMovedLately(const Incident& incident, Moment now) const;
  void Wake(Entry& entry, Alarm alarm, Instant at);
  void Forget(Entry& entry, Alarm alarm);
  void IndexOpen(Entry& entry);
  void UnindexOpen(const Entry& entry);
  void MakeRoom(Moment now);
  void ForgetClosed();
  // incident_folds.cc: one of many.
  static bool Standing(const Entry* entry);
  bool IsStandstill(const std::string& type) const;
  std::optional<CardFault> FaultOf(const Event& event) const;
  void Raise(Entry& root, const Entry& part, Moment now);
  void JoinParts(Entry& part, Entry& root);
  void TakeIn(Entry& part, Entry& root, Moment now);
  void FindRoot(Entry& entry, const Event& event, Instant now);
  void Gather(Entry& entry, const Event& event, Moment now);
  const Entry* StandstillOf(const Event& event, Severity severity) const;
  EventOutcome CountIn(Entry& entry, const Event& event, Severity severity, Moment now);
  void TakeInReports(Entry& hang, Moment now);
  const Entry* HostDown(const Entry& entry) const;
  void EndParts(Entry& entry, CloseReason reason, Moment now);

  // incident_silences.cc: why something does not ring.
  std::optional<Quieting> QuietFor(const Entry& entry) const;
  bool OutOfService(const SilenceSubject::Place& place, std::string* by) const;
  void Reconsider(Entry& entry, Moment now);
  void FollowSilences(Moment now);
  int AcknowledgeAll(const std::vector<std::string>& ids, const Actor& actor,
                     const std::string& terminal, Moment now);
  void Trail(const Actor& actor, AuditAction action, std::string subject, std::string detail,
             Moment now);
  void CountOne(Entry& entry, Moment now);
  void Touch(const Entry& entry);
  void Changed(const Entry& entry, IncidentChange change);

  // incident_announce.cc, incident_deliveries.cc, incident_terminals.cc: who is told.
  static Site::Sight SightOf(const Incident& incident);
  void Announce(Entry& entry, NotifyReason reason, Moment now);
  void Notify(Entry& entry, const std::string& terminal, NotifyReason reason, Severity severity,
              TerminalMessage message, Moment now);
  Voice VoiceOf(Entry& entry, const std::string& terminal, NotifyReason reason, Moment now);
  // How a message about something so severe would sound there, and why it would not as it is.
  Voice VoiceAt(Severity severity, const std::string& terminal, NotifyReason reason, Instant now,
                std::string* why) const;
  static TerminalMessage Sounding(Voice voice, Severity severity, const std::string& text);
  bool Suppressed(const Entry& entry, const Lamp& lamp, Instant now) const;
  Duration WindowOf(const std::string& identity, Instant now) const;
  Duration WindowLeft(const std::string& identity, const Entry* open, const std::string& terminal,
                      Instant now) const;
  bool WindowOpen(const std::string& identity, const std::string& terminal, Instant now) const;
  void TellClosed(Entry& entry, CloseReason reason, Moment now);
  void TellDark(Entry& entry, NotifyReason told, bool green_due, Moment now);
  void Withdraw(Entry& entry, const std::string& terminal);
  // What it is about to be told will be heard.
  bool SpeaksOnceArrived(const Lamp& lamp);
  void SpeakHeld(Entry& entry, Moment now);
  static void NoteVoice(Entry& entry);
  void Repeat(Entry& entry, Moment now);
  void WakeForRepeat(Entry& entry, Moment now);
  void EndMutes(Moment now);
  void Remind(const std::string& terminal, Moment now);
  void FollowQuietHours(Moment now);
  void HushPending(Moment now);
  bool DigestIsOwed(Moment now) const;
  void TellDigests(Moment now);
  void TellDigest(const std::string& terminal, Moment now);
  void KeepDigestTold(WallTime until);
  Entry* RaiseOwn(const Event& event, Moment now);
  void EndOwn(const Event& event, Moment now);
  void TakeOver(Entry& entry, const std::string& lost, Moment now);
  void Burn(Entry& entry, const std::string& terminal);
  void Extinguish(Entry& entry);
  void GiveUp(const std::string& message, const std::string& error, bool take_over, Moment now);
  BurningKey KeyOf(const Entry& entry) const;
  NotificationRecord* RecordOf(const std::string& message, Entry** entry);
  void KeepWindows(const Entry& entry, Moment now);
  void WelcomeNewTerminals(Entry& entry, Moment now);
  void ForgetLamps(Entry& entry, const std::set<std::string>& known);

  IncidentPolicy policy_;
  Site site_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, std::string> open_by_identity_;
  std::set<std::tuple<Severity, uint64_t, std::string>> open_;  // least worth keeping first
  std::unordered_map<std::string, std::set<std::string>> open_by_host_;
  std::unordered_map<std::string, std::set<std::string>> open_by_job_;
  std::unordered_map<std::string, std::string> incident_of_message_;
  std::map<std::string, std::set<BurningKey>> burning_;  // by terminal; the loudest last
  std::map<std::string, int> announced_p0_;              // by terminal, open ones
  std::deque<std::string> closed_;                       // oldest first
  std::deque<std::string> cleared_;
  using WindowKey = std::pair<std::string, std::string>;  // identity, terminal
  std::map<WindowKey, Instant> windows_;                  // of closed incidents: since when
  std::deque<WindowKey> window_order_;
  std::unordered_map<std::string, uint64_t> last_occurrence_;  // by identity
  std::deque<std::string> occurrence_order_;
  std::map<std::string, Instant> port_events_;
  std::map<std::string, Moment> mutes_;         // by terminal: until when
  std::set<std::string> lost_;                  // terminals that do not answer
  std::map<std::string, Instant> mute_breaks_;  // by terminal: when a P0 was last heard in a mute
  std::optional<Instant> quiet_changes_;        // when quiet hours begin or end next
  Duration clock_ahead_{0};                     // the civil clock of the other, as of then
  bool quiet_ = false;
  std::optional<WallTime> digest_told_;  // quiet hours that ended until then have had their digest
  FlapWatch flaps_;                      // of events; every hang is news
  SilenceBook silences_;
  StormFold folds_;
  bool reconsider_all_ = false;  // what an earlier process kept was judged by its silences
  struct CardGroup {
    std::string first;  // the incident that speaks for all
    Instant until;
  };
  std::map<std::string, CardGroup> card_groups_;           // by level, host, rack and type
  std::deque<std::pair<Instant, std::string>> card_ends_;  // when each of them is over, in order
  Keeping keeping_ = Keeping::kNow;  // how what is touched meanwhile is to be kept
  std::set<Timer> timers_;           // of incidents that are not closed, at most one of each kind
  uint64_t next_serial_ = 1;
  Actions actions_;
  std::unordered_set<std::string> touched_;
  std::deque<std::string> counted_;
};

}  // namespace sentinel
