// Environment variables of a side, and where its programs are found.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace opguard::runner {

using Environment = std::map<std::string, std::string>;

// This process's variables with `added` put over them.
Environment EnvironmentWith(const Environment& added);
std::vector<std::string> AsList(const Environment& environment);  // NAME=value
std::string ValueOf(const Environment& environment, const std::string& name,
                    const std::string& fallback = {});

// Absolute path of an executable file as execvpe would choose it, "" if there is none. A name with
// a slash is relative to `workdir`.
std::string FindProgram(const std::string& name, const Environment& environment,
                        const std::string& workdir);
// `path` itself if absolute, else below `workdir`.
std::string Absolute(const std::string& path, const std::string& workdir);

}  // namespace opguard::runner
