#pragma once

/// Output files: checked before a run, written in one step after it.

#include <filesystem>
#include <functional>
#include <iosfwd>

namespace longhaul {

/// Creates the folder where it is missing and proves that files can be made in it. Throws
/// SetupError.
void prepare_output_folder(const std::filesystem::path& folder);

/// Proves that `file` can be written: its folder exists and takes new files, and it is not a folder
/// itself. Throws SetupError.
void check_output_file(const std::filesystem::path& file);

/// Writes to a temporary file beside `file` and renames it, so that a reader finds the old content
/// or the new one, never half. Throws SetupError, as when the disk is full, and leaves nothing
/// behind.
void write_file_atomically(const std::filesystem::path& file,
                           const std::function<void(std::ostream&)>& write);

}  // namespace longhaul
