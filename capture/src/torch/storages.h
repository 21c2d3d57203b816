// Ordinals of storages, and what is known of their content.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "hash.h"
#include "opguard/capture/fingerprint.h"

namespace c10 {
struct StorageImpl;
struct TensorImpl;
}  // namespace c10

namespace opguard::capture {

class Catalogue;

// Keeps a weak reference to every storage seen, so that a reused address is never taken for the
// storage that was there before; it does not keep memory alive. Storages over overlapping live
// memory (torch.from_numpy twice) form a group: a write to one changes all. Thread-safe.
class Storages {
 public:
  explicit Storages(Catalogue& catalogue);
  ~Storages();
  Storages(const Storages&) = delete;
  Storages& operator=(const Storages&) = delete;

  // The ordinal of the tensor's storage, a new one (first seen at `op`) if it is unknown.
  std::int64_t Ordinal(const c10::TensorImpl& tensor, std::int64_t op);
  // The digest of the tensor if nothing can have changed it since Remember: same storage, data
  // pointer, geometry and version, and no MarkWritten on its group. Inference tensors: never.
  bool Unchanged(const c10::TensorImpl& tensor, std::int64_t geometry, Digest& digest);
  void Remember(const c10::TensorImpl& tensor, std::int64_t geometry, const Digest& digest);
  // Records a write to the storage by an op. Unknown storages are ignored.
  void MarkWritten(const c10::TensorImpl& tensor);

 private:
  struct Group {
    std::uint64_t writes = 0, members = 0;
  };
  struct Known {
    std::int64_t geometry = 0, version = 0;
    std::uint64_t writes = 0;
    Digest digest;
  };
  struct Entry {
    c10::StorageImpl* storage = nullptr;  // weakly owned
    std::int64_t ordinal = 0;
    std::uintptr_t begin = 0, bytes = 0;
    Group* group = nullptr;
    std::array<Known, 4> known;
    unsigned next_known = 0;
  };

  Entry* Find(const c10::StorageImpl* storage);
  Entry& Add(c10::StorageImpl* storage, std::int64_t op);
  // Takes the memory's present place into account; true if it moved.
  bool Refresh(Entry& entry);
  // Enters the memory into by_address_; returns the live entry that it overlaps, if any.
  Entry* Place(Entry& entry);
  void Unplace(Entry& entry);
  void Join(Entry& entry, Group* group);
  void Leave(Entry& entry);
  void Purge();
  void Free(Entry& entry);

  Catalogue& catalogue_;
  std::mutex mutex_;
  std::int64_t ordinals_ = 0;
  std::deque<Entry> entries_;
  std::vector<Entry*> free_entries_;
  std::deque<Group> groups_;
  std::vector<Group*> free_groups_;
  FlatMap<Entry*> by_storage_;
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::multimap<std::uintptr_t, Entry*> by_address_{&pool_};
  std::size_t purge_at_ = 4096;
};

}  // namespace opguard::capture
