// A machine for tests of the runner: a module named torch that records traces by itself when
// captured, sources of a capture library that compile in a moment, a cache and a pair store.
// Needs python3 with sqlite3, c++ and cmake; no torch.
#pragma once

#include <string>
#include <vector>

#include "runner/files.h"
#include "runner/run_pair.h"
#include "runner/scoped_variable.h"

namespace opguard::runner::testing {

class FakeMachine {
 public:
  FakeMachine();  // its cache holds the library already
  std::string File(const std::string& name) const { return folder_.path() + "/" + name; }
  // Writes a file, making its folder.
  void Write(const std::string& name, const std::string& text, bool executable = false) const;
  void FakeTorch(const std::string& version) const;
  // The same command on both sides in work/, where `program` is train.py.
  PairSpec Spec(const std::string& program, const std::vector<std::string>& arguments = {}) const;
  analysis::PairStore Store() const { return analysis::PairStore(File("home")); }
  // Runs `git` in work/ with an identity of its own.
  void Git(const std::vector<std::string>& arguments) const;

 private:
  TemporaryFolder folder_;
  ScopedVariable path_, cache_, root_;
};

// Starts the pair and waits for its end.
PairReport RunPairToEnd(Runner& runner, const PairSpec& spec);
PairReport WaitForEnd(Runner& runner, const std::string& pair_id);
// Whether a warning holds this text.
bool Warns(const PairReport& report, const std::string& text);

}  // namespace opguard::runner::testing
