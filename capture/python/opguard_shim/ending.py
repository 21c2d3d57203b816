"""Ends capture with the process, or the process with the window of recorded steps."""
import atexit
import os
import sys
import threading

from . import dynamo

_GRACE_SECONDS = 20


class Ending:
    """Closes the trace when the interpreter exits, in multiprocessing's forked children too."""

    def __init__(self, capture, facts):
        self._capture = capture
        self._facts = facts
        self._stopping = None  # process id whose window is recorded
        atexit.register(self._close)
        # multiprocessing ends a forked worker with os._exit after its own finalizers.
        from multiprocessing import util

        util.register_after_fork(
            self, lambda ending: util.Finalize(None, ending._close, exitpriority=-100))

    def stop_after_window(self):
        """Ends the process with status 0 once the library says that the window is recorded."""
        import ctypes

        should_stop = self._capture.optional("opguard_should_stop", ctypes.c_int)
        if should_stop is None:
            self._capture.note("stop_after_steps", "this capture library cannot tell when to stop")
            return
        from torch.optim.optimizer import register_optimizer_step_post_hook

        def after_step(_optimizer, _args, _kwargs):
            if should_stop():
                self._end_process()

        dynamo.leave_alone(after_step)
        register_optimizer_step_post_hook(after_step)

    def _end_process(self):
        # SystemExit lets the program clean up; the timer and the second visit are for programs
        # that catch it or wait for threads of theirs.
        self._capture.flush()
        first, self._stopping = self._stopping != os.getpid(), os.getpid()
        if first:
            timer = threading.Timer(_GRACE_SECONDS, self._close)
            timer.daemon = True
            timer.start()
            if threading.current_thread() is threading.main_thread():
                raise SystemExit(0)
        self._close()

    def _close(self):
        try:
            self._facts.record_end()
        finally:
            self._capture.stop()
        if self._stopping == os.getpid():
            self._leave()

    @staticmethod
    def _leave():
        # Not a plain exit: gloo's static destructors abort now and then after all work is done,
        # and the status would say that the run failed.
        util = sys.modules.get("multiprocessing.util")
        try:
            if threading.current_thread() is threading.main_thread():
                util._exit_function()
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:  # pylint: disable=broad-except
            pass
        os._exit(0)
