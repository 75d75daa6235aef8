#include "core/coding/coder.h"

namespace longhaul {

HostCoder& host_coder() {
  static HostCoder coder;
  return coder;
}

}  // namespace longhaul
