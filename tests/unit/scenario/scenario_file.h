#pragma once

/// A scenario given as text, for tests.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "tools/longhaul/scenario.h"

namespace longhaul {

/// A file that lives as long as the object.
class ScenarioFile {
 public:
  explicit ScenarioFile(const std::string& text, const std::string& name = "test.yaml")
      : folder_(std::filesystem::temp_directory_path() /
                ("longhaul-scenario-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    path_ = folder_ / name;
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ScenarioFile() { std::filesystem::remove_all(folder_); }
  ScenarioFile(const ScenarioFile&) = delete;
  ScenarioFile& operator=(const ScenarioFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path folder_, path_;
};

inline Scenario load_text(const std::string& text, const ScenarioOverrides& overrides = {}) {
  return load_scenario(ScenarioFile(text).path(), overrides);
}

/// The whole message of the error, the file's path replaced by FILE; empty when there is none.
inline std::string error_of(const std::string& file, const ScenarioOverrides& overrides = {}) {
  try {
    load_scenario(file, overrides);
  } catch (const SetupError& error) {
    std::string message = error.what();
    if (message.starts_with(file)) message.replace(0, file.size(), "FILE");
    return message;
  }
  return {};
}

inline std::string error_of_text(const std::string& text, const ScenarioOverrides& overrides = {}) {
  return error_of(ScenarioFile(text).path(), overrides);
}

inline const std::string kSmallest =
    "path: {distance: 3750 km}\nmessage: {size: 1 MiB}\npolicies: [sr(nack)]\n";

}  // namespace longhaul
