#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <tuple>

#include "opguard/analysis/pair.h"
#include "opguard/store/trace_reader.h"
#include "pair_database.h"

namespace opguard::analysis {
namespace {

namespace fs = std::filesystem;

struct Found {
  TraceFile file;
  std::int64_t started = 0;
};

std::int64_t Number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<Found> ReadFile(const FileIdentity& identity) {
  OPGUARD_ASSIGN(const auto reader, store::TraceReader::Open(identity.path));
  OPGUARD_ASSIGN(const store::TraceFacts facts, reader->ReadFacts());
  Found found;
  found.file.path = identity.path;
  found.file.rank =
      static_cast<std::uint32_t>(std::max<std::int64_t>(Number(facts.TraceValue("rank", "0")), 0));
  found.file.auxiliary = facts.TraceValue("role", "rank") != "rank";
  found.file.complete = facts.complete();
  found.file.ops = facts.op_count;
  found.file.tensors = facts.tensor_count;
  found.file.bytes = identity.bytes;
  found.started = Number(facts.TraceValue("started_unix", "0"));
  return found;
}

Result<Found> LoadCached(const Pair::Impl& impl, const FileIdentity& identity) {
  OPGUARD_ASSIGN(sql::Statement row,
                 impl.database.Prepare("SELECT rank, auxiliary, complete, started, ops, tensors "
                                       "FROM trace_file "
                                       "WHERE path = ?1 AND bytes = ?2 AND modified_ns = ?3"));
  row.BindText(1, impl.Stored(identity.path));
  row.BindInt(2, identity.bytes);
  row.BindInt(3, identity.modified_ns);
  OPGUARD_ASSIGN(const bool found, row.Step());
  if (!found) return Fail(ErrorCode::kNotFound, "not cached");
  Found cached;
  cached.file.path = identity.path;
  cached.file.rank = static_cast<std::uint32_t>(row.Int(0));
  cached.file.auxiliary = row.Int(1) != 0;
  cached.file.complete = row.Int(2) != 0;
  cached.started = row.Int(3);
  cached.file.ops = row.Int(4);
  cached.file.tensors = row.Int(5);
  cached.file.bytes = identity.bytes;
  return cached;
}

Result<void> SaveCached(Pair::Impl& impl, const FileIdentity& identity, const Found& found) {
  OPGUARD_ASSIGN(sql::Statement row,
                 impl.database.Prepare("INSERT OR REPLACE INTO trace_file VALUES"
                                       "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
  row.BindText(1, impl.Stored(identity.path));
  row.BindInt(2, identity.bytes);
  row.BindInt(3, identity.modified_ns);
  row.BindInt(4, found.file.rank);
  row.BindInt(5, found.file.auxiliary ? 1 : 0);
  row.BindInt(6, found.file.complete ? 1 : 0);
  row.BindInt(7, found.started);
  row.BindInt(8, found.file.ops);
  row.BindInt(9, found.file.tensors);
  OPGUARD_TRY(row.Step());
  return {};
}

Result<Found> Load(Pair::Impl& impl, const std::string& path, bool may_grow) {
  OPGUARD_ASSIGN(const FileIdentity identity, IdentityOf(path));
  if (auto cached = LoadCached(impl, identity)) return cached;
  OPGUARD_ASSIGN(const Found found, ReadFile(identity));
  // A store that cannot be written only costs time.
  if (found.file.complete || !may_grow) (void)SaveCached(impl, identity, found);
  return found;
}

// Numbers the files of each rank: the main process first.
std::vector<TraceFile> Ordered(std::vector<Found> found) {
  const auto key = [](const Found& f) {
    return std::make_tuple(f.file.rank, f.file.auxiliary, -f.file.ops, f.started, f.file.path);
  };
  std::sort(found.begin(), found.end(),
            [&](const Found& x, const Found& y) { return key(x) < key(y); });
  std::vector<TraceFile> files;
  std::map<std::uint32_t, std::uint32_t> next;
  for (Found& f : found) {
    // A rank of which only helpers were recorded has no ordinal 0.
    const auto [at, is_first] = next.emplace(f.file.rank, f.file.auxiliary ? 1 : 0);
    f.file.ordinal = at->second++;
    files.push_back(std::move(f.file));
  }
  return files;
}

}  // namespace

Result<std::vector<TraceFile>> Pair::Traces(const RunInfo& run,
                                            std::vector<std::string>* problems) const {
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator at(run.directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".opguard") continue;
    auto loaded = Load(*impl_, at->path().string(), run.state == RunState::kRunning);
    if (loaded) {
      found.push_back(std::move(*loaded));
    } else if (problems != nullptr) {
      problems->push_back(fmt::format("{}: {}", at->path().string(), loaded.error().message));
    }
  }
  // A run that never started has no folder, and no traces.
  if (error && error != std::errc::no_such_file_or_directory) {
    return Fail(ErrorCode::kIo, fmt::format("cannot read {}: {}", run.directory, error.message()),
                "make the folder readable");
  }
  return Ordered(std::move(found));
}

}  // namespace opguard::analysis
