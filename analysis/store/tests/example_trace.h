// A small trace with a row in every table, and what plain SQL says of it.
#pragma once

#include <string>
#include <vector>

#include "opguard/store/records.h"

namespace opguard::store::testing {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One op with one tensor, and the rows that they refer to. No two fields of a row are equal.
Batch ExampleBatch();

// `count` ops from id `first` on with a tensor each, that refer to ExampleBatch()'s rows.
Batch MoreOps(std::int64_t first, std::int64_t count);

// Writes a finished trace of ExampleBatch() and MoreOps(2, ops - 1).
void WriteExample(const std::string& path, std::int64_t ops = 1);

// The rows of a query by SQLite's own interface, columns joined with '|', NULL as "NULL".
std::vector<std::string> Query(const std::string& path, const std::string& sql);
// Runs statements on the file, as someone with the sqlite3 program would.
void Alter(const std::string& path, const std::string& sql);

}  // namespace opguard::store::testing
