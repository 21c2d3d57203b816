#include "stacks.h"

#include <dlfcn.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <string>

#include "../write/catalogue.h"
#include "torch_access.h"

namespace opguard::capture {
namespace {

// Code objects that a program makes anew all the time must not be kept alive without bound.
constexpr std::size_t kMostKept = 1 << 14;

bool HasPythonStack() {
  static const auto thread_state =
      reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  static const auto initialized =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  static const auto finalizing = [] {
    void* name = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    return reinterpret_cast<int (*)()>(name != nullptr ? name
                                                       : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
  }();
  return thread_state != nullptr && initialized != nullptr && initialized() != 0 &&
         (finalizing == nullptr || finalizing() == 0) && thread_state() != nullptr;
}

std::uint64_t Mixed(const PythonFrame& frame) {
  return (reinterpret_cast<std::uintptr_t>(frame.code) << 20U) ^
         (reinterpret_cast<std::uintptr_t>(frame.code) >> 44U) ^
         static_cast<std::uint64_t>(frame.instruction);
}

Hash128 KeyOf(std::uint64_t first, std::uint64_t second) {
  Hasher hasher;
  hasher.Add(first);
  hasher.Add(second);
  return hasher.Finish();
}

Hash128 KeyOf(const PythonFrame& frame) {
  return KeyOf(reinterpret_cast<std::uintptr_t>(frame.code),
               static_cast<std::uint64_t>(frame.instruction));
}

bool IsOurs(const std::string& path) { return path.find("/opguard_shim/") != std::string::npos; }

}  // namespace

Stacks::Stacks(Catalogue& catalogue) : catalogue_(catalogue) {}
Stacks::~Stacks() = default;

bool Stacks::KnowsAll(const torch::CapturedTraceback& traceback) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < FrameCount(traceback); ++i) {
    if (frames_.Find(KeyOf(FrameAt(traceback, i))) == nullptr) return false;
  }
  return true;
}

void Stacks::Symbolize(const std::shared_ptr<torch::CapturedTraceback>& traceback) {
  const torch::SymbolizedTracebacks symbols = torch::symbolize({traceback.get()});
  const auto& indices = symbols.tracebacks.at(0);
  std::vector<std::shared_ptr<torch::CapturedTraceback>> dropped;  // freed without the lock
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kMostKept) {
    dropped.swap(kept_);
    frames_.Clear();
    ++generation_;
  }
  kept_.push_back(traceback);
  for (std::size_t i = indices.size(); i-- > 0;) {
    const auto& symbol = symbols.all_frames.at(indices[i]);
    const Hash128 key = KeyOf(FrameAt(*traceback, i));
    if (frames_.Find(key) != nullptr) continue;
    frames_.Insert(key,
                   IsOurs(symbol.filename)
                       ? 0
                       : catalogue_.Frame(symbol.filename, static_cast<std::int64_t>(symbol.lineno),
                                          symbol.funcname));
  }
}

std::int64_t Stacks::FrameOf(const torch::CapturedTraceback& traceback, std::size_t index) {
  const std::int64_t* frame = frames_.Find(KeyOf(FrameAt(traceback, index)));
  return frame == nullptr ? 0 : *frame;
}

std::int64_t Stacks::Gather(Last& last) {
  if (!HasPythonStack()) return 0;
  const auto traceback = torch::CapturedTraceback::gather(true, false, false);
  const std::size_t depth = FrameCount(*traceback);
  if (depth == 0) return 0;

  std::size_t same = 0;
  while (last.generation == generation_ && same < depth && same < last.keys.size() &&
         last.keys[same] == Mixed(FrameAt(*traceback, depth - 1 - same))) {
    ++same;
  }
  if (same == depth) return last.stacks[depth - 1];
  if (!KnowsAll(*traceback)) Symbolize(traceback);

  const std::lock_guard lock(mutex_);
  if (last.generation != generation_) same = 0;
  last.generation = generation_;
  last.keys.resize(depth);
  last.stacks.resize(depth);
  std::int64_t parent = same == 0 ? 0 : last.stacks[same - 1];
  for (std::size_t i = same; i < depth; ++i) {
    last.keys[i] = Mixed(FrameAt(*traceback, depth - 1 - i));
    const std::int64_t frame = FrameOf(*traceback, depth - 1 - i);
    if (frame != 0) {
      const Hash128 key =
          KeyOf(static_cast<std::uint64_t>(parent), static_cast<std::uint64_t>(frame));
      const std::int64_t* known = stacks_.Find(key);
      if (known == nullptr) stacks_.Insert(key, catalogue_.Stack(parent, frame));
      parent = *stacks_.Find(key);
    }
    last.stacks[i] = parent;
  }
  return parent;
}

}  // namespace opguard::capture
