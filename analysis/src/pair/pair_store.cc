#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "opguard/analysis/pair.h"
#include "pair_database.h"

namespace opguard::analysis {
namespace {

namespace fs = std::filesystem;

// The number of an id "p12"; 0 if it is none.
std::uint64_t NumberOf(const std::string& id) {
  std::uint64_t number = 0;
  if (id.size() < 2 || id[0] != 'p' || id[1] == '0') return 0;
  const char* end = id.data() + id.size();
  const auto [rest, error] = std::from_chars(id.data() + 1, end, number);
  return error == std::errc{} && rest == end ? number : 0;
}

std::string PairsFolder(const std::string& home) { return home + "/pairs"; }

// Numbers of all folders that look like pairs, descending.
std::vector<std::uint64_t> Numbers(const std::string& home) {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator at(PairsFolder(home), error), end; !error && at != end;
       at.increment(error)) {
    if (const auto number = NumberOf(at->path().filename().string())) numbers.push_back(number);
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

tl::unexpected<Error> CannotWrite(const std::string& path, const std::string& reason) {
  return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", path, reason),
              "make the folder writable, or set OPGUARD_HOME to a writable folder");
}

// The new pair's folder; mkdir decides between processes.
Result<std::string> MakeFolder(const std::string& home) {
  std::error_code error;
  fs::create_directories(PairsFolder(home), error);
  if (error) return CannotWrite(PairsFolder(home), error.message());
  const auto numbers = Numbers(home);
  for (std::uint64_t number = numbers.empty() ? 1 : numbers.front() + 1;; ++number) {
    const std::string id = fmt::format("p{}", number);
    const std::string path = PairsFolder(home) + "/" + id;
    if (mkdir(path.c_str(), 0755) == 0) return id;
    if (errno != EEXIST) return CannotWrite(path, std::strerror(errno));
  }
}

}  // namespace

PairStore::PairStore(std::string home) {
  std::error_code error;
  home_ = fs::absolute(home, error).lexically_normal().string();
  while (home_.size() > 1 && home_.back() == '/') home_.pop_back();
}

std::string PairStore::DefaultHome(const std::string& workdir) {
  const char* home = std::getenv("OPGUARD_HOME");
  return home != nullptr && *home ? home : workdir + "/.opguard";
}

Result<Pair> PairStore::Create(const std::string& label) {
  OPGUARD_ASSIGN(const std::string id, MakeFolder(home_));
  const std::string folder = PairsFolder(home_) + "/" + id;
  // Another process sees the finished database or none.
  OPGUARD_TRY(CreatePairDatabase(folder + "/pair.db.new"));
  std::error_code error;
  fs::rename(folder + "/pair.db.new", folder + "/pair.db", error);
  if (error) return CannotWrite(folder, error.message());
  OPGUARD_ASSIGN(Pair pair, Open(id));
  OPGUARD_TRY(pair.SetAttribute("label", label));
  return pair;
}

Result<Pair> PairStore::Open(const std::string& pair_id) const {
  const std::string folder = PairsFolder(home_) + "/" + pair_id;
  std::error_code error;
  if (NumberOf(pair_id) == 0 || !fs::exists(folder + "/pair.db", error)) {
    OPGUARD_ASSIGN(std::vector<std::string> known, List());
    if (known.size() > 5) known.resize(5);
    return Fail(ErrorCode::kNotFound, fmt::format("there is no pair {} in {}", pair_id, home_),
                known.empty() ? "call run_pair first" : "use one of the known pairs",
                std::move(known));
  }
  OPGUARD_ASSIGN(sql::Database database, OpenPairDatabase(folder + "/pair.db"));
  return Pair(std::make_unique<Pair::Impl>(pair_id, folder, std::move(database)));
}

Result<std::vector<std::string>> PairStore::List() const {
  std::vector<std::string> ids;
  std::error_code error;
  for (const std::uint64_t number : Numbers(home_)) {
    const std::string id = fmt::format("p{}", number);
    if (fs::exists(PairsFolder(home_) + "/" + id + "/pair.db", error)) ids.push_back(id);
  }
  return ids;
}

}  // namespace opguard::analysis
