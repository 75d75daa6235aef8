#pragma once

namespace longhaul {

/// The commit that was built, "-dirty" appended when tracked files had changes; "unknown" outside
/// git.
const char* build_commit();

}  // namespace longhaul
