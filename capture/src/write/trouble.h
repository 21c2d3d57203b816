// Tells the person and the runner that a process is not captured any further.
#pragma once

#include <string>

namespace opguard::capture {

// One line on stderr and one in `directory`/note-<pid>.txt, as far as each can be written.
void ReportTrouble(const std::string& directory, const std::string& code, const std::string& text);

}  // namespace opguard::capture
