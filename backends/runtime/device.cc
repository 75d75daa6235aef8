#include "backends/runtime/device.h"

#include <array>

#include "backends/runtime/loopback/loopback_device.h"
#include "core/base/edit_distance.h"
#include "core/base/error.h"

namespace longhaul {
namespace {

/// A device of this build. A new one adds a line to kDevices.
struct DeviceKind {
  std::string_view kind;
  std::string_view form;  ///< how to name it
  std::unique_ptr<Device> (*open)(std::string_view name);
};

constexpr std::array kDevices = {
    DeviceKind{"loopback", "loopback:NAME?rate=100Gb/s&delay=1ms&loss=1e-3", &open_loopback},
};

}  // namespace

std::unique_ptr<Device> open_device(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find_first_of(":?"));
  std::vector<std::string_view> kinds;
  std::string forms;
  for (const DeviceKind& device : kDevices) {
    if (device.kind == kind) return device.open(name);
    kinds.push_back(device.kind);
    if (!forms.empty()) forms += ", ";
    forms += device.form;
  }
  std::string remedy;
  const std::string nearest = nearest_word(kind, kinds);
  if (!nearest.empty()) remedy += "did you mean " + nearest + "? ";
  remedy += "This build has: " + forms;
  throw SetupError(std::string(name), "there is no such device", remedy);
}

}  // namespace longhaul
