#include "agent/learned_keeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "progress/learned_text.h"

namespace sentinel {
namespace {

// Once for each stretch in which it fails.
void Complain(const Status& saved, std::atomic<bool>* failing) {
  if (failing->exchange(!saved.ok()) || saved.ok()) return;
  spdlog::warn(
      "learned=not_saved why=\"{}\" effect=\"a restarted agent learns anew\" do=\"run as root, "
      "make "
      "that folder writable for this user, or set state_dir\"",
      saved.error().message);
}

}  // namespace

LearnedKeeper::LearnedKeeper(LearnedFile file, std::string boot)
    : file_(std::move(file)), boot_(std::move(boot)), disk_(std::make_unique<Worker>(1)) {}

Learned LearnedKeeper::Load() {
  Result<Learned> learned = file_.Load(boot_);
  if (learned.ok()) {
    spdlog::info("learned=loaded processes={} path=\"{}\"", learned->processes.size(),
                 file_.path());
    return std::move(learned).value();
  }
  switch (learned.error().code) {
    case ErrorCode::kNotFound:
      Complain(file_.MakeFolder(), &failing_);  // now, and not when there will be something to save
      break;
    case ErrorCode::kUnavailable:
      spdlog::info("learned=none why=\"{}\"", learned.error().message);
      break;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kDenied:
    case ErrorCode::kCorrupt:
    case ErrorCode::kExhausted:
    case ErrorCode::kTimeout:
    case ErrorCode::kIo:
      spdlog::warn("learned=unreadable why=\"{}\" effect=\"running jobs are learned anew\"",
                   learned.error().message);
      break;
  }
  return {};
}

bool LearnedKeeper::Due(Instant now) {
  if (saved_at_ == Instant{}) saved_at_ = now;
  if (now - saved_at_ < kSaveEvery) return false;
  saved_at_ = now;
  return true;
}

void LearnedKeeper::Save(Learned learned) {
  if (learned.processes.empty() && !wrote_) return;
  wrote_ = !learned.processes.empty();
  disk_->Post([this, text = TextOf(std::move(learned))] { Complain(file_.Save(text), &failing_); });
}

void LearnedKeeper::SaveAtEnd(Learned learned) {
  disk_.reset();  // whatever it is writing is older
  if (learned.processes.empty() && !wrote_) return;
  Complain(file_.Save(TextOf(std::move(learned))), &failing_);
}

std::string LearnedKeeper::TextOf(Learned learned) {
  learned.boot = boot_;
  size_t left_out = 0;
  std::string text = WriteLearned(learned, &left_out);
  if (left_out > 0 && !full_) {
    spdlog::warn("learned=full left_out={} effect=\"these processes are learned anew\"", left_out);
  }
  full_ = left_out > 0;
  return text;
}

}  // namespace sentinel
