#include <cstdlib>
#include <string>

#include "runner/supervisor.h"

namespace opguard::runner {
namespace {

// Every field ends with a NUL, which no argument, variable or path can hold.
class Fields {
 public:
  explicit Fields(const std::string& text) : text_(text) {}
  bool Next(std::string& field) {
    const std::size_t end = text_.find('\0', at_);
    if (end == std::string::npos) return false;
    field = text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }
  bool Next(std::uint64_t& number) {
    std::string field;
    if (!Next(field)) return false;
    number = std::strtoull(field.c_str(), nullptr, 10);
    return true;
  }
  bool Next(std::vector<std::string>& list) {
    std::uint64_t size = 0;
    if (!Next(size) || size > text_.size()) return false;
    list.resize(size);
    for (std::string& item : list) {
      if (!Next(item)) return false;
    }
    return true;
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

void Put(std::string& text, const std::string& field) { text.append(field).push_back('\0'); }
void Put(std::string& text, const std::vector<std::string>& list) {
  Put(text, std::to_string(list.size()));
  for (const std::string& item : list) Put(text, item);
}

}  // namespace

std::string EncodeOrder(const SupervisorOrder& order) {
  std::string text;
  Put(text, order.argv);
  Put(text, order.environment);
  Put(text, order.workdir);
  Put(text, order.stdout_path);
  Put(text, order.stderr_path);
  Put(text, order.lock_path);
  Put(text, std::to_string(order.limits.head_bytes));
  Put(text, std::to_string(order.limits.tail_bytes));
  Put(text, std::to_string(order.leftover_grace_ms));
  Put(text, std::to_string(order.kill_after_ms));
  Put(text, std::to_string(order.foreground ? 1 : 0));
  return text;
}

bool DecodeOrder(const std::string& text, SupervisorOrder& order) {
  Fields fields(text);
  std::uint64_t foreground = 0;
  const bool complete =
      fields.Next(order.argv) && fields.Next(order.environment) && fields.Next(order.workdir) &&
      fields.Next(order.stdout_path) && fields.Next(order.stderr_path) &&
      fields.Next(order.lock_path) && fields.Next(order.limits.head_bytes) &&
      fields.Next(order.limits.tail_bytes) && fields.Next(order.leftover_grace_ms) &&
      fields.Next(order.kill_after_ms) && fields.Next(foreground);
  order.foreground = foreground != 0;
  return complete && !order.argv.empty();
}

}  // namespace opguard::runner
