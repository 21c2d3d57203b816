#include "storages.h"

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "../write/catalogue.h"
#include "tensors.h"

namespace opguard::capture {
namespace {

using Weak = c10::weak_intrusive_ptr<c10::StorageImpl>;

Hash128 KeyOf(const c10::StorageImpl* storage) {
  Hasher hasher;
  hasher.Add(reinterpret_cast<std::uintptr_t>(storage));
  return hasher.Finish();
}

bool Expired(c10::StorageImpl* storage) {
  return c10::raw::weak_intrusive_ptr::use_count(storage) == 0;
}

}  // namespace

Storages::Storages(Catalogue& catalogue) : catalogue_(catalogue) {}

Storages::~Storages() {
  for (Entry& entry : entries_) {
    if (entry.storage != nullptr) c10::raw::weak_intrusive_ptr::decref(entry.storage);
  }
}

Storages::Entry* Storages::Find(const c10::StorageImpl* storage) {
  Entry** entry = by_storage_.Find(KeyOf(storage));
  return entry == nullptr ? nullptr : *entry;
}

Storages::Entry& Storages::Add(c10::StorageImpl* storage, std::int64_t op) {
  if (by_storage_.size() >= purge_at_) Purge();
  if (free_entries_.empty()) free_entries_.push_back(&entries_.emplace_back());
  Entry& entry = *free_entries_.back();
  free_entries_.pop_back();
  c10::raw::weak_intrusive_ptr::incref(storage);
  entry = Entry{};
  entry.storage = storage;
  entry.ordinal = ++ordinals_;
  entry.begin = reinterpret_cast<std::uintptr_t>(std::as_const(*storage).data());
  entry.bytes = storage->nbytes();
  by_storage_.Insert(KeyOf(storage), &entry);
  const Entry* older = Place(entry);
  Join(entry, older == nullptr ? nullptr : older->group);
  catalogue_.AddStorage({entry.ordinal, static_cast<std::int64_t>(entry.bytes), op,
                         older == nullptr ? 0 : older->ordinal});
  return entry;
}

bool Storages::Refresh(Entry& entry) {
  const auto begin = reinterpret_cast<std::uintptr_t>(std::as_const(*entry.storage).data());
  const std::uintptr_t bytes = entry.storage->nbytes();
  if (begin == entry.begin && bytes == entry.bytes) return false;
  Unplace(entry);
  entry.begin = begin;
  entry.bytes = bytes;
  entry.known = {};
  if (const Entry* older = Place(entry); older != nullptr && older->group != entry.group) {
    Leave(entry);
    Join(entry, older->group);
  }
  return true;
}

Storages::Entry* Storages::Place(Entry& entry) {
  if (entry.begin == 0 || entry.bytes == 0) return nullptr;
  constexpr int kNested = 2;  // aliases that may begin between a block's begin and this one's
  Entry* overlapped = nullptr;
  bool placed = false;
  auto at = by_address_.upper_bound(entry.begin);
  for (int back = 0; back < kNested && at != by_address_.begin(); ++back) --at;
  while (at != by_address_.end() && at->first < entry.begin + entry.bytes) {
    Entry& other = *at->second;
    const bool overlaps = other.begin + other.bytes > entry.begin;
    if (overlaps && Expired(other.storage)) {
      if (!placed && at->first == entry.begin) {  // the usual reuse of an address: keep the node
        at->second = &entry;
        placed = true;
      } else {
        at = by_address_.erase(at);
        continue;
      }
    } else if (overlaps && overlapped == nullptr) {
      overlapped = &other;
    }
    ++at;
  }
  if (!placed) by_address_.emplace(entry.begin, &entry);
  return overlapped;
}

void Storages::Unplace(Entry& entry) {
  auto [at, end] = by_address_.equal_range(entry.begin);
  while (at != end && at->second != &entry) ++at;
  if (at != end) by_address_.erase(at);
}

void Storages::Join(Entry& entry, Group* group) {
  if (group == nullptr) {
    if (free_groups_.empty()) free_groups_.push_back(&groups_.emplace_back());
    group = free_groups_.back();
    free_groups_.pop_back();
    *group = Group{};
  }
  entry.group = group;
  ++group->members;
  ++group->writes;
}

void Storages::Leave(Entry& entry) {
  if (--entry.group->members == 0) free_groups_.push_back(entry.group);
  entry.group = nullptr;
}

void Storages::Free(Entry& entry) {
  Unplace(entry);
  Leave(entry);
  c10::raw::weak_intrusive_ptr::decref(entry.storage);
  entry.storage = nullptr;
  free_entries_.push_back(&entry);
}

void Storages::Purge() {
  by_storage_.Clear();
  for (Entry& entry : entries_) {
    if (entry.storage == nullptr) continue;
    if (Expired(entry.storage)) {
      Free(entry);
    } else {
      by_storage_.Insert(KeyOf(entry.storage), &entry);
    }
  }
  purge_at_ = std::max<std::size_t>(4096, 2 * by_storage_.size());
}

std::int64_t Storages::Ordinal(const c10::TensorImpl& tensor, std::int64_t op) {
  c10::StorageImpl* storage = StorageOf(tensor);
  const std::lock_guard lock(mutex_);
  if (Entry* entry = Find(storage)) {
    Refresh(*entry);
    return entry->ordinal;
  }
  return Add(storage, op).ordinal;
}

bool Storages::Unchanged(const c10::TensorImpl& tensor, std::int64_t geometry, Digest& digest) {
  const std::int64_t version = VersionOf(tensor);
  if (version < 0) return false;
  const std::lock_guard lock(mutex_);
  Entry* entry = Find(StorageOf(tensor));
  if (entry == nullptr || Refresh(*entry)) return false;
  for (const Known& known : entry->known) {
    if (known.geometry == geometry && known.version == version &&
        known.writes == entry->group->writes) {
      digest = known.digest;
      return true;
    }
  }
  return false;
}

void Storages::Remember(const c10::TensorImpl& tensor, std::int64_t geometry,
                        const Digest& digest) {
  const std::int64_t version = VersionOf(tensor);
  if (version < 0) return;
  const std::lock_guard lock(mutex_);
  Entry* entry = Find(StorageOf(tensor));
  if (entry == nullptr) return;
  const Known fresh{geometry, version, entry->group->writes, digest};
  for (Known& known : entry->known) {
    if (known.geometry == geometry) {
      known = fresh;
      return;
    }
  }
  entry->known[entry->next_known++ % entry->known.size()] = fresh;
}

void Storages::MarkWritten(const c10::TensorImpl& tensor) {
  const std::lock_guard lock(mutex_);
  if (Entry* entry = Find(StorageOf(tensor))) ++entry->group->writes;
}

}  // namespace opguard::capture
