#include "transport/line_splitter.h"

#include <utility>

namespace opguard::mcp {

LineSplitter::LineSplitter(std::size_t max_bytes, std::function<void(std::string_view)> on_line,
                           std::function<void()> on_oversize)
    : max_bytes_(max_bytes), on_line_(std::move(on_line)), on_oversize_(std::move(on_oversize)) {}

void LineSplitter::Take(std::string_view bytes) {
  if (is_skipping_) return;
  if (line_.size() + bytes.size() <= max_bytes_) {
    line_.append(bytes);
    return;
  }
  is_skipping_ = true;
  std::string().swap(line_);
  on_oversize_();
}

void LineSplitter::EndLine() {
  if (!is_skipping_) on_line_(line_);
  is_skipping_ = false;
  line_.clear();
}

void LineSplitter::Feed(std::string_view bytes) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    Take(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    EndLine();
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::Finish() {
  if (!line_.empty()) EndLine();
}

}  // namespace opguard::mcp
