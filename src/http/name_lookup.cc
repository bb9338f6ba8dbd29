#include "http/name_lookup.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

namespace sentinel {
namespace {

using boost::asio::ip::address;

Error CannotResolve(const std::string& host, const std::string& why) {
  return Error{ErrorCode::kUnavailable, "cannot resolve " + host + ": " + why};
}

LookedUp AskTheHost(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (failed != 0) {
    return CannotResolve(
        host, failed == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(failed));
  }
  std::vector<address> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) {
      sockaddr_in v4{};
      std::memcpy(&v4, entry->ai_addr, sizeof v4);
      addresses.emplace_back(boost::asio::ip::address_v4(ntohl(v4.sin_addr.s_addr)));
    } else if (entry->ai_family == AF_INET6) {
      sockaddr_in6 v6{};
      std::memcpy(&v6, entry->ai_addr, sizeof v6);
      boost::asio::ip::address_v6::bytes_type bytes;
      std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
      addresses.emplace_back(boost::asio::ip::address_v6(bytes, v6.sin6_scope_id));
    }
  }
  freeaddrinfo(found);
  return addresses;
}

// False if the host has no thread to give. It takes no signal: those are for the threads that
// expect them.
bool RunDetached(std::function<void()> work) {
  auto* owned = new std::function<void()>(std::move(work));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int failed = pthread_create(
      &thread, nullptr,
      [](void* argument) -> void* {
        const std::unique_ptr<std::function<void()>> mine(
            static_cast<std::function<void()>*>(argument));
        (*mine)();
        return nullptr;
      },
      owned);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) {
    delete owned;
    return false;
  }
  pthread_detach(thread);
  return true;
}

}  // namespace

// What the threads may touch.
struct NameLookups::Shared {
  std::mutex mutex;
  boost::asio::io_context* io = nullptr;  // null: it has gone
};

// What only the io_context's own thread touches.
struct NameLookups::Lookup {
  struct Waiting {
    std::vector<std::function<void(const LookedUp&)>> waiters;
    // Somebody waits: the io_context has work for so long.
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  };
  boost::asio::io_context& io;
  std::function<LookedUp(const std::string&)> ask = AskTheHost;
  std::map<std::string, Waiting> by_host;
};

boost::asio::execution_context::id NameLookups::id;

NameLookups& NameLookups::Of(boost::asio::io_context& io) {
  return boost::asio::use_service<NameLookups>(io);
}

NameLookups::NameLookups(boost::asio::execution_context& context)
    : service(context), shared_(std::make_shared<Shared>()) {
  auto& io = static_cast<boost::asio::io_context&>(context);
  shared_->io = &io;
  lookup_.reset(new Lookup{io, AskTheHost, {}});
}

NameLookups::~NameLookups() = default;

void NameLookups::shutdown() {
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->io = nullptr;
  }
  lookup_->by_host.clear();
}

void NameLookups::AskInstead(std::function<LookedUp(const std::string& host)> ask) {
  lookup_->ask = std::move(ask);
}

void NameLookups::LookUp(const std::string& host, std::function<void(const LookedUp&)> done) {
  auto refuse = [&](const char* why) {
    boost::asio::post(lookup_->io, [done = std::move(done), refusal = CannotResolve(host, why)] {
      done(refusal);
    });
  };
  auto& by_host = lookup_->by_host;
  if (auto under_way = by_host.find(host); under_way != by_host.end()) {
    auto& waiters = under_way->second.waiters;
    if (waiters.size() >= kLookupWaitersMax) {
      return refuse("too many wait for a name server that does not answer");
    }
    waiters.push_back(std::move(done));
    return;
  }
  if (by_host.size() >= kLookupsMax) {
    return refuse("the name servers do not answer for too many others");
  }
  const bool started = RunDetached([this, host, ask = lookup_->ask, shared = shared_] {
    LookedUp found = ask(host);
    const std::lock_guard<std::mutex> lock(shared->mutex);
    if (shared->io == nullptr) return;
    boost::asio::post(*shared->io, [this, host, found = std::move(found)] { Answer(host, found); });
  });
  if (!started) return refuse("no thread is to be had");
  Lookup::Waiting waiting{{}, boost::asio::make_work_guard(lookup_->io)};
  waiting.waiters.push_back(std::move(done));
  by_host.emplace(host, std::move(waiting));
}

void NameLookups::Answer(const std::string& host, const LookedUp& found) {
  auto it = lookup_->by_host.find(host);
  if (it == lookup_->by_host.end()) return;
  const Lookup::Waiting answered = std::move(it->second);
  lookup_->by_host.erase(it);
  for (const auto& waiter : answered.waiters) waiter(found);
}

}  // namespace sentinel
