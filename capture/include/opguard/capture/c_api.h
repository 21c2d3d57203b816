/* C entry points of libopguard_capture, for the Python shim (ctypes.PyDLL: the caller holds the
 * GIL) and for C++ programs. Every function is safe to call at any time from any thread, does
 * nothing when capture is off, and never throws. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts capture. `config` is the value of OPGUARD_CAPTURE: `key=value` joined by ';', values
 * percent-encoded where they hold ';' or '%'. Keys: dir (trace folder, required), mode
 * (full|trusted), level (outer|inner), from_step, steps (0: all), stop_after_steps (0|1), stacks
 * (0|1), statistics (0|1). No file is written before the first op. Returns 0, or an error number
 * whose text opguard_last_error() gives. Starting twice is an error and changes nothing. */
int opguard_start(const char* config);
/* Ends capture: waits for the writer, marks the trace complete. Returns 0 or an error number. */
int opguard_stop(void);
/* Commits what was recorded so far. */
int opguard_flush(void);
/* With stop_after_steps=1: 1 once the window of steps is recorded, else 0. Meant for the end of
 * Optimizer.step; it counts optimizers, so that a step with two of them is not cut. */
int opguard_should_stop(void);
/* Text of the calling thread's last error; "" for none. Valid until the next call. */
const char* opguard_last_error(void);
/* Version of OpGuard and of the torch this library was built for: "0.1.0 2.13.0". */
const char* opguard_version(void);

/* Interns a module; returns its id (> 0), or 0 when capture is off. */
int64_t opguard_module(const char* name, const char* class_name);
/* Marks the calling thread as inside a module's call; pairs nest. */
void opguard_module_enter(int64_t module);
void opguard_module_exit(void);

/* A fact of the environment (key, value). May be called before the first op. */
void opguard_environment(const char* key, const char* value);
/* A note in the trace: something that was not captured, and why. */
void opguard_note(const char* code, const char* text);

/* Suspends recording on the calling thread (compile tracing); pairs nest. Calls are counted
 * under trace.skipped.<reason>. */
void opguard_suspend(const char* reason);
void opguard_resume(void);

/* Must be called in a forked child (pthread_atfork does so already): capture starts afresh with a
 * file of its own on the child's first op, as an auxiliary process. */
void opguard_after_fork_child(void);

#ifdef __cplusplus
}
#endif
