// Interns the facts that rows refer to by id, and collects the rows to be written.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "opguard/store/records.h"

namespace opguard::capture {

// Thread-safe: every call takes one lock for a short time, calls nothing foreign and is meant for
// the first use of a fact; callers cache the ids. Ids ascend from 1 in order of first use.
class Catalogue {
 public:
  std::int64_t Lane(const std::string& name);
  std::int64_t Schema(store::SchemaRow row);  // by name and overload
  std::int64_t Arguments(const std::string& text);
  std::int64_t Inside(const std::string& text);
  std::int64_t Slot(std::string_view role, std::int32_t position, std::int32_t item);
  std::int64_t Geometry(store::GeometryRow row);
  std::int64_t Module(const std::string& name, const std::string& class_name);
  // The file at `path` is read later, by the writer.
  std::int64_t Frame(const std::string& path, std::int64_t line, const std::string& function);
  std::int64_t Stack(std::int64_t parent, std::int64_t frame);

  std::int64_t AddNode(std::string name, std::int64_t forward_op);
  void AddStep(std::int64_t id, std::int64_t first_op);
  void AddStorage(const store::StorageRow& row);
  void AddGap(std::int64_t first_step, std::int64_t last_step, std::string reason);
  // A repeated note (same code and text) is written once.
  void AddNote(std::int64_t op, const std::string& code, const std::string& text);
  void SetEnvironment(std::string key, std::string value);
  void SetTrace(std::string key, std::string value);

  // Moves what was collected to `batch`; `sources` gets id and path of files to read. The facts
  // that rows taken before refer to are in this batch or an earlier one.
  void Take(store::Batch& batch, std::vector<std::pair<std::int64_t, std::string>>& sources);

 private:
  // The id of `key`, a new one (second is true) or a known one.
  std::pair<std::int64_t, bool> Intern(std::unordered_map<std::string, std::int64_t>& ids,
                                       std::string key);

  std::mutex mutex_;
  store::Batch pending_;
  std::vector<std::pair<std::int64_t, std::string>> sources_to_read_;
  std::unordered_map<std::string, std::int64_t> lanes_, schemas_, arguments_, insides_, slots_,
      geometries_, modules_, sources_, frames_, stacks_, notes_;
  std::int64_t nodes_ = 0, gaps_ = 0;
};

}  // namespace opguard::capture
