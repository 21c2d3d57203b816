// Non-tensor arguments as content hashes and as canonical text (schemas/trace.md, "arguments").
#pragma once

#include <string>

#include "operator_facts.h"

namespace c10 {
struct IValue;
}

namespace opguard::capture {

class Hasher;

// Adds everything that AppendValue would print. Allocates nothing for the usual kinds.
void HashValue(Hasher& hasher, const c10::IValue& value);

// True for tensors and lists that hold tensors: they are records, not text.
bool HoldsTensors(const c10::IValue& value);

void AppendValue(std::string& text, const c10::IValue& value, ValueKind kind);

// "torch.float32" as Python prints a dtype.
const char* DtypeName(int scalar_type);

}  // namespace opguard::capture
