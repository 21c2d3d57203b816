#include "catalogue.h"

#include <iterator>

namespace opguard::capture {
namespace {

// Parts joined so that different parts give different keys.
template <typename... Parts>
std::string Key(const Parts&... parts) {
  std::string key;
  const auto add = [&key](const auto& part) {
    std::string text;
    if constexpr (requires { std::string(part); }) {
      text = std::string(part);
    } else {
      text = std::to_string(part);
    }
    key += std::to_string(text.size()) + ':' + text;
  };
  (add(parts), ...);
  return key;
}

}  // namespace

std::pair<std::int64_t, bool> Catalogue::Intern(std::unordered_map<std::string, std::int64_t>& ids,
                                                std::string key) {
  const auto next = static_cast<std::int64_t>(ids.size()) + 1;
  const auto [at, inserted] = ids.try_emplace(std::move(key), next);
  return {at->second, inserted};
}

std::int64_t Catalogue::Lane(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(lanes_, name);
  if (fresh) pending_.lanes.push_back({id, name});
  return id;
}

std::int64_t Catalogue::Schema(store::SchemaRow row) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(schemas_, Key(row.name, row.overload, row.signature));
  row.id = id;
  if (fresh) pending_.schemas.push_back(std::move(row));
  return id;
}

std::int64_t Catalogue::Arguments(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(arguments_, text);
  if (fresh) pending_.arguments.push_back({id, text});
  return id;
}

std::int64_t Catalogue::Inside(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(insides_, text);
  if (fresh) pending_.insides.push_back({id, text});
  return id;
}

std::int64_t Catalogue::Slot(std::string_view role, std::int32_t position, std::int32_t item) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(slots_, Key(role, position, item));
  if (fresh) pending_.slots.push_back({id, std::string(role), position, item});
  return id;
}

std::int64_t Catalogue::Geometry(store::GeometryRow row) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(geometries_, Key(row.dtype, row.device, row.sizes, row.strides,
                                                   row.storage_offset, row.layout));
  row.id = id;
  if (fresh) pending_.geometries.push_back(std::move(row));
  return id;
}

std::int64_t Catalogue::Module(const std::string& name, const std::string& class_name) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(modules_, Key(name, class_name));
  if (fresh) pending_.modules.push_back({id, name, class_name});
  return id;
}

std::int64_t Catalogue::Frame(const std::string& path, std::int64_t line,
                              const std::string& function) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(frames_, Key(path, line, function));
  if (!fresh) return id;
  const auto [source, unread] = Intern(sources_, path);
  if (unread) sources_to_read_.emplace_back(source, path);
  pending_.frames.push_back({id, path, line, function, source});
  return id;
}

std::int64_t Catalogue::Stack(std::int64_t parent, std::int64_t frame) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(stacks_, Key(parent, frame));
  if (fresh) pending_.stacks.push_back({id, parent, frame});
  return id;
}

std::int64_t Catalogue::AddNode(std::string name, std::int64_t forward_op) {
  const std::lock_guard lock(mutex_);
  pending_.nodes.push_back({++nodes_, std::move(name), forward_op});
  return nodes_;
}

void Catalogue::AddStep(std::int64_t id, std::int64_t first_op) {
  const std::lock_guard lock(mutex_);
  pending_.steps.push_back({id, first_op});
}

void Catalogue::AddStorage(const store::StorageRow& row) {
  const std::lock_guard lock(mutex_);
  pending_.storages.push_back(row);
}

void Catalogue::AddGap(std::int64_t first_step, std::int64_t last_step, std::string reason) {
  const std::lock_guard lock(mutex_);
  pending_.gaps.push_back({++gaps_, first_step, last_step, std::move(reason)});
}

void Catalogue::AddNote(std::int64_t op, const std::string& code, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto [id, fresh] = Intern(notes_, Key(code, text));
  if (fresh) pending_.notes.push_back({id, op, code, text});
}

void Catalogue::SetEnvironment(std::string key, std::string value) {
  const std::lock_guard lock(mutex_);
  pending_.environment.push_back({std::move(key), std::move(value)});
}

void Catalogue::SetTrace(std::string key, std::string value) {
  const std::lock_guard lock(mutex_);
  pending_.trace.push_back({std::move(key), std::move(value)});
}

void Catalogue::Take(store::Batch& batch,
                     std::vector<std::pair<std::int64_t, std::string>>& sources) {
  const std::lock_guard lock(mutex_);
  const auto move = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
  };
  move(pending_.lanes, batch.lanes);
  move(pending_.schemas, batch.schemas);
  move(pending_.arguments, batch.arguments);
  move(pending_.insides, batch.insides);
  move(pending_.slots, batch.slots);
  move(pending_.geometries, batch.geometries);
  move(pending_.modules, batch.modules);
  move(pending_.frames, batch.frames);
  move(pending_.stacks, batch.stacks);
  move(pending_.steps, batch.steps);
  move(pending_.nodes, batch.nodes);
  move(pending_.storages, batch.storages);
  move(pending_.gaps, batch.gaps);
  move(pending_.notes, batch.notes);
  move(pending_.trace, batch.trace);
  move(pending_.environment, batch.environment);
  move(sources_to_read_, sources);
}

}  // namespace opguard::capture
