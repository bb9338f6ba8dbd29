#include "gateway/browser_page.h"

#include <algorithm>
#include <string>

namespace sentinel {
namespace {

bool IsAddress(std::string_view host) {
  if (host.starts_with('[')) return true;
  const std::string_view name = host.substr(0, host.rfind(':'));
  return name == "localhost" || (!name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || c == '.';
         }));
}

}  // namespace

bool IsLoopback(std::string_view peer) {
  return peer.starts_with("127.") || peer == "::1" || peer.starts_with("::ffff:127.");
}

bool FromAnotherSite(const HttpRequest& request) {
  const std::string host(request.Header("Host"));
  const std::string_view origin = request.Header("Origin");
  if (!origin.empty() && origin != "http://" + host && origin != "https://" + host) return true;
  return IsLoopback(request.peer) && !host.empty() && !IsAddress(host);
}

}  // namespace sentinel
