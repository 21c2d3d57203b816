// One side's records by storage: who wrote, viewed and read the bytes of a record.
#pragma once

#include <cstdint>
#include <vector>

#include "compare.h"

namespace opguard::analysis {

// Built once in linear time. A query looks at a bounded number of records of one storage.
class StorageIndex {
 public:
  StorageIndex(const PairFacts& facts, Side side);

  Side side() const { return side_; }
  std::size_t OpOf(std::size_t record) const;

  // The outputs and written arguments that left the bytes of `record` as the op `before` found
  // them, latest first. `record` may be of any op.
  std::vector<std::size_t> Writers(std::size_t record, std::size_t before) const;
  // The latest view of `record`'s geometry made before the op, -1 if none was recorded.
  std::int64_t Creator(std::size_t record, std::size_t before) const;
  // The latest earlier record of an op that read the same place, -1 if there is none.
  std::int64_t EarlierRead(std::size_t record, std::size_t before) const;
  // Whether a later op reads what `record` (an output or written argument) left, before it is
  // written over. An op that only views does not read.
  bool IsRead(std::size_t record) const;
  // The latest record with a value on `storage` among the ops before `end`, of the geometry if that
  // is not 0; -1 if there is none.
  std::int64_t LastValue(std::uint32_t storage, std::uint32_t geometry, std::size_t end) const;

 private:
  struct Bytes {
    std::int64_t begin, end;
    bool is_dense;  // every byte between belongs to the record
    bool Overlaps(const Bytes& other) const { return begin < other.end && other.begin < end; }
  };
  struct Range {
    const std::uint32_t* begin;
    const std::uint32_t* end;
  };

  std::uint32_t Canonical(std::uint32_t storage) const;
  Bytes BytesOf(std::size_t record) const;
  bool IsWrite(std::size_t record) const;
  Range RecordsOf(std::uint32_t storage) const;
  // The records of the storage that lie before the op's.
  Range Before(std::uint32_t storage, std::size_t op) const;

  const PairFacts& facts_;
  const Trace& trace_;
  Side side_;
  std::vector<bool> only_views_;        // by op: it gives tensors, all of them views
  std::vector<std::uint64_t> offsets_;  // by canonical storage, into records_
  std::vector<std::uint32_t> records_;  // ascending within a storage
};

}  // namespace opguard::analysis
