#include "gateway/silent_nodes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sentinel {

SilentNodes::News SilentNodes::Update(const std::vector<std::string>& hosts, Language language) {
  std::set<std::string> silent(hosts.begin(), hosts.end());
  if (silent.size() > kSilentNodesMax) {
    silent = {language == Language::kChinese ? "多台" : "several hosts"};
  }
  News news;
  std::set_difference(told_.begin(), told_.end(), silent.begin(), silent.end(),
                      std::back_inserter(news.back));
  std::set_difference(silent.begin(), silent.end(), told_.begin(), told_.end(),
                      std::back_inserter(news.silent));
  told_ = std::move(silent);
  return news;
}

}  // namespace sentinel
