// Records one op: arguments and input tensors when it starts, results when it ends.
#pragma once

#include <c10/util/ArrayRef.h>

#include "lane.h"

namespace c10 {
struct IValue;
}

namespace opguard::capture {

class Recorder;

// Fills `call`'s op fields and records its inputs. REQUIRES: `arguments` are the operator's own and
// hold plain tensors only; `call` is the last of lane.calls.
void StartOp(Recorder& recorder, Lane& lane, Call& call, c10::ArrayRef<c10::IValue> arguments);

// Records outputs and written arguments and hands the op's rows to the writer. `threw`: it ended by
// an exception and `results` is empty.
void EndOp(Recorder& recorder, Lane& lane, Call& call, c10::ArrayRef<c10::IValue> results,
           bool threw);

// Takes note of a call inside an op: its name and arguments, what it writes and draws.
void StartInner(Recorder& recorder, Lane& lane, const Call& call,
                c10::ArrayRef<c10::IValue> arguments);

// Releases what a call retained. Must run for every call that leaves lane.calls.
void ReleaseCall(Lane& lane, Call& call);

}  // namespace opguard::capture
