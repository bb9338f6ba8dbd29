#include "http/config_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing_folder.h"

namespace sentinel {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string Said(const AddressParser& parse, const std::string& text) {
  const Result<Endpoint> endpoint = parse(text);
  return endpoint.ok() ? endpoint->ToString() : "refused: " + endpoint.error().message;
}

TEST(ConfigAddress, WhatCanBeListenedOnIsTaken) {
  const AddressParser parse = ServedAddress(8080);
  EXPECT_EQ(Said(parse, "0.0.0.0"), "0.0.0.0:8080");
  EXPECT_EQ(Said(parse, "127.0.0.1:0"), "127.0.0.1:0");
  EXPECT_EQ(Said(parse, "tls:[::1]:9000"), "tls:[::1]:9000");
  EXPECT_EQ(Said(parse, "[fe80::1%lo]"), "[fe80::1%lo]:8080");
  EXPECT_EQ(Said(parse, "gw-1.example.org."), "gw-1.example.org.:8080");
  EXPECT_EQ(Said(parse, "unix:/run/x.sock"), "unix:/run/x.sock");
}

TEST(ConfigAddress, WhatNobodyCouldListenOnIsRefusedWithWhatIsExpected) {
  const AddressParser parse = ServedAddress(8080);
  EXPECT_THAT(Said(parse, "300.1.1.1"), HasSubstr("'300.1.1.1' is not an IPv4 address"));
  EXPECT_THAT(Said(parse, "10.0.0"), HasSubstr("not an IPv4 address"));
  EXPECT_THAT(Said(parse, "[zz]:80"), HasSubstr("'zz' is not an IPv6 address"));
  EXPECT_THAT(Said(parse, "[10.0.0.1]"), HasSubstr("not an IPv6 address"));
  EXPECT_THAT(Said(parse, "[1:2]:80"), HasSubstr("not an IPv6 address"));
  EXPECT_THAT(Said(parse, "a..b"), HasSubstr("neither an IP address nor a host name"));
  EXPECT_THAT(Said(parse, "-a"), HasSubstr("neither"));
  EXPECT_THAT(Said(parse, "机房"), HasSubstr("neither"));
  EXPECT_THAT(Said(parse, std::string(64, 'a')), HasSubstr("neither"));
  EXPECT_THAT(Said(parse, "unix:run/x.sock"), HasSubstr("absolute path of a socket"));
  EXPECT_THAT(Said(parse, "unix:/run/"), HasSubstr("absolute path of a socket"));
  EXPECT_THAT(Said(parse, "host:99999"), HasSubstr("port"));
}

TEST(ConfigAddress, WhereNamesAreNotResolvedAnAddressIsExpected) {
  const AddressParser parse = ServedAddress(8081, ServedNames::kNone);
  EXPECT_EQ(Said(parse, "localhost"), "localhost:8081");
  EXPECT_EQ(Said(parse, "10.0.0.1"), "10.0.0.1:8081");
  EXPECT_THAT(Said(parse, "nohost:80"), HasSubstr("'nohost:80': an IP address of this host"));
  EXPECT_THAT(Said(parse, "tls:gw.example.org"), HasSubstr("an IP address of this host"));
}

TEST(ConfigAddress, WhatNobodyCouldCallIsRefused) {
  const AddressParser parse = CalledAddress(80);
  EXPECT_EQ(Said(parse, "lamp.example.org"), "lamp.example.org:80");
  EXPECT_EQ(Said(parse, "[2001:db8::5]"), "[2001:db8::5]:80");
  EXPECT_THAT(Said(parse, "10.0.0.9:0"), HasSubstr("a port from 1 to 65535"));
  EXPECT_THAT(Said(parse, "0.0.0.0"), HasSubstr("every address of a host"));
  EXPECT_THAT(Said(parse, "[::]:80"), HasSubstr("every address of a host"));
  EXPECT_THAT(Said(parse, "[0:0:0::0]:80"), HasSubstr("every address of a host"));
}

TEST(ConfigAddress, ASocketsPathIsAbsoluteAndShortEnough) {
  EXPECT_EQ(*SocketPath("/run/a.sock"), "/run/a.sock");
  EXPECT_FALSE(SocketPath("a.sock").ok());
  EXPECT_FALSE(SocketPath("/run/").ok());
  EXPECT_TRUE(SocketPath("/" + std::string(106, 'a')).ok());
  EXPECT_THAT(SocketPath("/" + std::string(107, 'a')).error().message, HasSubstr("107 bytes"));
}

TEST(ConfigAddress, WhatThisHostDoesNotHaveIsAWarning) {
  const auto warnings = [](const std::string& text) {
    return AddressWarnings({*ServedAddress(8080)(text)}, {});
  };
  EXPECT_THAT(warnings("127.0.0.1"), IsEmpty());
  EXPECT_THAT(warnings("0.0.0.0:1"), IsEmpty()) << "the port is nobody's concern here";
  const auto elsewhere = warnings("192.0.2.1");  // of documents, no host's
  ASSERT_EQ(elsewhere.size(), 1u);
  EXPECT_THAT(elsewhere[0], HasSubstr("192.0.2.1:8080: it is no address of this host now: "));
  const TestingFolder folder;
  const std::string path = folder.path().string();
  EXPECT_THAT(warnings("unix:" + path + "/a.sock"), IsEmpty());
  EXPECT_THAT(warnings("unix:" + path + "/none/a.sock").at(0), HasSubstr("No such file"));
  std::ofstream(path + "/file") << "x";
  EXPECT_THAT(warnings("unix:" + path + "/file").at(0), HasSubstr("no socket"));
  // A name is one of its addresses, which one is the host's affair.
  size_t twice = 0;
  for (const char* address : {"127.0.0.1", "[::1]"}) {
    const auto both =
        AddressWarnings({*ServedAddress(8080)(address), *ServedAddress(8080)("localhost")}, {});
    if (!both.empty() && both.back().find("listens on as well") != std::string::npos) ++twice;
  }
  EXPECT_EQ(twice, 1u);
  EXPECT_THAT(AddressWarnings({*ServedAddress(0)("localhost"), *ServedAddress(0)("localhost")}, {}),
              IsEmpty());
  // What is called may be anywhere.
  EXPECT_THAT(AddressWarnings({}, {*CalledAddress(80)("192.0.2.1")}), IsEmpty());
}

}  // namespace
}  // namespace sentinel
