#include "tools/longhaul/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/base/error.h"

namespace longhaul {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRemedy = "Name another place with --out DIR, or make this one writable.";

std::string error_text(int error) { return std::generic_category().message(error); }

fs::path temporary_beside(const fs::path& file) {
  return fs::path(file.string() + fmt::format(".{}.tmp", getpid()));
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Tries it out: permissions, read-only mounts and quotas have no simpler test.
void check_folder_takes_files(const fs::path& folder) {
  const fs::path probe = temporary_beside(folder / "longhaul-probe");
  errno = 0;
  const bool made = std::ofstream(probe).is_open();
  const int error = errno;
  std::error_code ignored;
  fs::remove(probe, ignored);
  if (!made) throw SetupError(folder.string(), "cannot write here: " + error_text(error), kRemedy);
}

}  // namespace

void prepare_output_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    const std::string cause = error ? error.message() : "a file is in the way";
    throw SetupError(folder.string(), "cannot create this folder: " + cause, kRemedy);
  }
  check_folder_takes_files(folder);
}

void check_output_file(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    throw SetupError(file.string(), "is a folder, not a file",
                     "Name a file, or - for standard output.");
  }
  if (!fs::is_directory(folder_of(file), error)) {
    throw SetupError(file.string(), "its folder does not exist",
                     "Create " + folder_of(file).string() + " first.");
  }
  check_folder_takes_files(folder_of(file));
}

void write_file_atomically(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  const fs::path temporary = temporary_beside(file);
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  errno = 0;
  if (out) write(out);
  out.close();
  std::error_code error;
  if (!out) {
    const int cause = errno;
    fs::remove(temporary, error);
    throw SetupError(file.string(), "cannot write: " + error_text(cause), kRemedy);
  }
  fs::rename(temporary, file, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw SetupError(file.string(), "cannot write: " + error.message(), kRemedy);
  }
}

}  // namespace longhaul
