// Records one tensor of an op.
#pragma once

#include <cstdint>

#include "lane.h"

namespace opguard::capture {

class Recorder;

enum class Role : std::uint8_t { kIn, kOut, kMutated };

struct Place {
  Role role;
  std::int32_t position, item;  // item -1: not in a list
};

// REQUIRES: a plain tensor.
void RecordInput(Recorder& recorder, Lane& lane, const Call& call, const c10::TensorImpl& tensor,
                 Place place);
// An output or written argument, of any kind. REQUIRES: writes of the op were marked.
void RecordOutput(Recorder& recorder, Lane& lane, const Call& call, const c10::TensorImpl& tensor,
                  Place place);

}  // namespace opguard::capture
