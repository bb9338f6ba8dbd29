// A host's name into its addresses, without waiting for anybody else's.
//
// Asio looks up all names of an io_context on one thread, one after the other: a receiver whose
// name server does not answer would hold up every lamp that is called by a name, for as long as the
// host's resolver keeps asking (ten seconds and more). Here each name has a thread while it is
// looked up.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>

#include "base/result.h"

namespace sentinel {

// Names that are looked up at once; one more is an error at once, and so is one more who waits for
// the same name. Who calls by name tries again of his own accord.
constexpr size_t kLookupsMax = 32;
constexpr size_t kLookupWaitersMax = 64;

using LookedUp = Result<std::vector<boost::asio::ip::address>>;

// The lookups of one io_context, which may go while they are under way: nobody waits for them then.
class NameLookups : public boost::asio::execution_context::service {
 public:
  using key_type = NameLookups;
  static boost::asio::execution_context::id id;

  // Those of `io`, made when they are first asked for.
  static NameLookups& Of(boost::asio::io_context& io);
  explicit NameLookups(boost::asio::execution_context& context);
  ~NameLookups() override;

  // `done` is called once, on the io_context and never from within the call. Who asks for a name
  // that is being looked up waits for that answer.
  void LookUp(const std::string& host, std::function<void(const LookedUp&)> done);

  // For tests: asked, on a thread of its own, instead of the host's resolver.
  void AskInstead(std::function<LookedUp(const std::string& host)> ask);

 private:
  struct Shared;
  struct Lookup;

  void shutdown() override;
  void Answer(const std::string& host, const LookedUp& found);

  std::unique_ptr<Lookup> lookup_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace sentinel
