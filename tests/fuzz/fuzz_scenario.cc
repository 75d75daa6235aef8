/// Any text as a scenario file: accepted, or refused with a message for its author. Nothing else
/// may be thrown, and no text may take long or much memory.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/check.h"
#include "core/base/error.h"
#include "tools/longhaul/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The loader wants a file; one in memory costs no disk.
  static const int memory = memfd_create("scenario", 0);
  static const std::string file = "/proc/self/fd/" + std::to_string(memory);
  LONGHAUL_CHECK(ftruncate(memory, 0) == 0);
  LONGHAUL_CHECK(pwrite(memory, data, size, 0) == static_cast<ssize_t>(size));
  try {
    longhaul::load_scenario(file, {});
  } catch (const longhaul::SetupError& error) {
    LONGHAUL_CHECK(*error.what() != '\0');
  }
  return 0;
}
