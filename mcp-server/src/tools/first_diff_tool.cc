#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "render/first_diff_json.h"
#include "tools/answer.h"
#include "tools/tools.h"

namespace opguard::tools {
namespace {

struct Query {
  analysis::FirstDiffOptions options;
  std::optional<std::uint32_t> rank;
  bool full = false;
  std::string CacheKey() const {
    return fmt::format("first_diff/{}/{}/{}", options.after_index, options.scope, full);
  }
};

Result<Query> ParseQuery(const Json& arguments) {
  Query query;
  query.full = arguments.at("detail") == "full";
  query.options.scope = arguments.value("scope", "");
  if (arguments.contains("rank")) query.rank = arguments.at("rank").get<std::uint32_t>();
  if (arguments.contains("after_op")) {
    OPGUARD_ASSIGN(const OpId after, ParseOpId(arguments.at("after_op").get<std::string>()));
    if (query.rank && *query.rank != after.rank) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("after_op {} is of rank {}, but rank is {}.", after.Text(),
                              after.rank, *query.rank),
                  "leave rank out, or use an op of that rank");
    }
    query.rank = after.rank;
    query.options.after_index = static_cast<std::int64_t>(after.index);
  }
  return query;
}

// One rank's answer, from the pair's cache where the traces have not changed.
Result<Json> RankAnswer(Workspace& workspace, analysis::Pair& pair, const RankFiles& files,
                        const Query& query) {
  const std::string key = query.CacheKey();
  if (auto cached = pair.LoadAnswer(files.rank, key, files.a, files.b)) {
    Json answer = Json::parse(*cached, nullptr, false);
    if (!answer.is_discarded()) return answer;
  }
  OPGUARD_ASSIGN(const auto judged, workspace.Judge(pair, files, query.options));
  const std::vector<std::size_t> ladder = query.full ? std::vector<std::size_t>{100, 40, 20, 8, 3}
                                                     : std::vector<std::size_t>{20, 8, 4, 2, 1, 0};
  Json answer =
      FitBudget((query.full ? kFullBudget : kNormalBudget) - 1000, ladder, [&](std::size_t items) {
        return render::FirstDiffJson(*judged, pair.id(), files.rank, items);
      });
  // Not kept is not wrong: a read-only pair answers each time from its traces.
  (void)pair.SaveAnswer(files.rank, key,
                        answer.dump(-1, ' ', false, Json::error_handler_t::replace));
  return answer;
}

bool Diverged(const Json& answer) { return answer.at("status") == "diverged"; }

// Order in which ranks are preferred as the main answer: diverged before not, earlier steps first,
// an origin before a rank that may only have received the difference.
std::int64_t Priority(const Json& answer) {
  if (!Diverged(answer)) return std::numeric_limits<std::int64_t>::max();
  const std::string verdict = answer.at("verdict").get<std::string>();
  const bool received = verdict == "receiver" || verdict == "external_write";
  return answer.at("op").at("step").get<std::int64_t>() * 2 + (received ? 1 : 0);
}

Json RankSummary(std::uint32_t rank, const Json& answer) {
  Json summary{{"rank", rank}, {"status", answer.at("status")}};
  if (Diverged(answer)) {
    summary["verdict"] = answer.at("verdict");
    summary["op_id"] = answer.at("op").at("id");
    summary["op"] = answer.at("op").at("name");
    summary["step"] = answer.at("op").at("step");
  }
  return summary;
}

// The status of a rank without difference, least certain first.
int Doubt(const std::string& status) {
  if (status == "incomparable") return 3;
  if (status == "incomplete") return 2;
  if (status == "no_difference_in_coverage") return 1;
  return 0;
}

Json Merge(const std::vector<std::pair<std::uint32_t, Json>>& answers) {
  const auto main =
      std::min_element(answers.begin(), answers.end(), [](const auto& x, const auto& y) {
        const auto px = Priority(x.second), py = Priority(y.second);
        if (px != py) return px < py;
        if (!Diverged(x.second)) {
          return Doubt(x.second.at("status").template get<std::string>()) >
                 Doubt(y.second.at("status").template get<std::string>());
        }
        return x.first < y.first;
      });
  Json merged = main->second;
  Json ranks = Json::array();
  std::size_t diverged = 0;
  for (const auto& [rank, answer] : answers) {
    ranks.push_back(RankSummary(rank, answer));
    if (Diverged(answer)) ++diverged;
  }
  if (answers.size() > 1) {
    merged["summary"] =
        fmt::format("{} (rank {}; {} of {} ranks diverge)", merged.at("summary").get<std::string>(),
                    main->first, diverged, answers.size());
  }
  constexpr std::size_t kShownRanks = 16;
  merged["ranks_total"] = answers.size();
  if (ranks.size() > kShownRanks) ranks.erase(ranks.begin() + kShownRanks, ranks.end());
  merged["ranks"] = std::move(ranks);
  return merged;
}

// A side's own nondeterminism, found by comparing its repeats; null if it repeats exactly.
Result<Json> SelfDifference(Workspace& workspace, analysis::Pair& pair,
                            const std::vector<RankFiles>& repeats, const Query& query) {
  Json earliest = nullptr;
  for (const RankFiles& files : repeats) {
    OPGUARD_ASSIGN(Json answer, RankAnswer(workspace, pair, files, query));
    if (Diverged(answer) && (earliest.is_null() || Priority(answer) < Priority(earliest))) {
      earliest = std::move(answer);
    }
  }
  return earliest;
}

std::int64_t Position(const Json& answer, const char* sequence) {
  const Json& value = answer.at("op").at(sequence);
  return value.is_number() ? value.get<std::int64_t>() : 0;
}

// A's or B's own nondeterminism goes first, unless the sides part before it.
Result<Json> WithRepeats(Workspace& workspace, analysis::Pair& pair, const PairFiles& files,
                         const Query& query, Json answer) {
  struct Own {
    const std::vector<RankFiles>& files;
    const char* side;
    const char* sequence;
  };
  for (const Own& own : {Own{files.self_a, "A", "seq_a"}, Own{files.self_b, "B", "seq_b"}}) {
    if (own.files.empty()) continue;
    OPGUARD_ASSIGN(const Json self, SelfDifference(workspace, pair, own.files, query));
    const std::string flag = fmt::format("side {} repeats itself", own.side);
    if (self.is_null()) {
      answer["warnings"].push_back(flag + " exactly");
      continue;
    }
    const std::string found = self.at("summary").get<std::string>();
    const bool parts_before = Diverged(answer) && Position(answer, own.sequence) > 0 &&
                              Position(answer, own.sequence) < Position(self, "seq_a");
    if (parts_before) {
      answer["warnings"].push_back(
          fmt::format("side {} also differs from its own repeat, later: {}", own.side, found));
      continue;
    }
    Json own_answer = self;
    own_answer["status"] = "self_nondeterministic";
    own_answer["summary"] = fmt::format(
        "self_nondeterministic: side {} differs from its own repeat (a and b below are its two "
        "runs), so a difference between A and B from there on proves nothing. {}",
        own.side, found);
    own_answer["a_against_b"] =
        Json{{"status", answer.at("status")}, {"summary", answer.at("summary")}};
    return own_answer;
  }
  return answer;
}

}  // namespace

Result<Json> FirstDiff(Workspace& workspace, const Json& arguments) {
  OPGUARD_ASSIGN(const Query query, ParseQuery(arguments));
  OPGUARD_ASSIGN(analysis::Pair pair,
                 workspace.store().Open(arguments.at("pair_id").get<std::string>()));
  OPGUARD_ASSIGN(PairFiles files, workspace.Files(pair));
  if (query.rank) {
    std::vector<std::string> known;
    for (const RankFiles& rank : files.ranks) known.push_back(std::to_string(rank.rank));
    std::erase_if(files.ranks, [&](const RankFiles& rank) { return rank.rank != *query.rank; });
    if (files.ranks.empty()) {
      return Fail(ErrorCode::kNotFound,
                  fmt::format("pair {} has no rank {} on both sides.", pair.id(), *query.rank),
                  "use one of the pair's ranks", known);
    }
  }
  std::vector<std::pair<std::uint32_t, Json>> answers;
  for (const RankFiles& rank : files.ranks) {
    OPGUARD_ASSIGN(Json answer, RankAnswer(workspace, pair, rank, query));
    answers.emplace_back(rank.rank, std::move(answer));
  }
  Json answer = Merge(answers);
  for (const std::string& warning : files.warnings) answer["warnings"].push_back(warning);
  OPGUARD_ASSIGN(answer, WithRepeats(workspace, pair, files, query, std::move(answer)));
  // `ranks` was added after `next`; the envelope keeps warnings and next last.
  for (const char* last : {"warnings", "next"}) {
    Json value = answer.at(last);
    answer.erase(last);
    answer[last] = std::move(value);
  }
  return answer;
}

}  // namespace opguard::tools
