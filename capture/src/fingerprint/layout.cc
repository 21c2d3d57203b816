#include "layout.h"

namespace opguard::capture {

Loops::Loops(const MemoryView& view) {
  for (std::size_t dim = 0; dim < view.sizes.size() && dims < kMost; ++dim) {
    const std::int64_t size = view.sizes[dim];
    const std::int64_t stride = view.strides[dim] * static_cast<std::int64_t>(view.item_bytes);
    elements *= static_cast<std::uint64_t>(size);
    if (size == 1) continue;
    if (dims > 0 && strides[dims - 1] == stride * size) {
      sizes[dims - 1] *= size;
      strides[dims - 1] = stride;
    } else {
      sizes[dims] = size;
      strides[dims++] = stride;
    }
  }
}

}  // namespace opguard::capture
