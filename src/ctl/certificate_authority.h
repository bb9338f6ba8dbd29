// The site's own CA: one folder, which whoever can read it can make anybody of.
//
// EC P-256 throughout. What is issued is good for TLS servers, clients or both, and for nothing
// else.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sentinel {

enum class CertificateUse : uint8_t { kServer, kClient, kBoth };

struct CertificateRequest {
  std::string name;                // the common name, and the files' name
  std::vector<std::string> hosts;  // names and addresses it is reached by
  CertificateUse use = CertificateUse::kBoth;
  std::chrono::days valid = std::chrono::days(825);
};

struct IssuedFiles {
  std::string certificate;  // paths
  std::string key;
};

class CertificateAuthority {
 public:
  // Makes `folder` (0700) with ca.crt and ca.key (0600). kInvalidArgument if there is one already.
  static Status Init(const std::string& folder, const std::string& name, std::chrono::days valid,
                     WallTime now);

  explicit CertificateAuthority(std::string folder) : folder_(std::move(folder)) {}

  // `out`/NAME.crt and `out`/NAME.key (0600), made if `out` is not there. kInvalidArgument if they
  // are there already, or the request is none; kNotFound if there is no CA; kDenied if its key can
  // be read by others.
  Result<IssuedFiles> Issue(const CertificateRequest& request, const std::string& out,
                            WallTime now) const;

 private:
  std::string folder_;
};

}  // namespace sentinel
