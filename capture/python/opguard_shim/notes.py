"""Says why a process is not captured: a note file for the runner, one line for the person."""
import os
import sys


class NotCaptured(Exception):
    """Capture cannot start; `code` for programs, `text` for people."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.text = text


def write(config, code, text, quiet=False):
    """Appends `code<TAB>text` to note-<pid>.txt in the trace folder and warns on stderr."""
    text = " ".join(str(text).split())
    try:
        path = os.path.join(config["dir"], "note-%d.txt" % os.getpid())
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write("%s\t%s\n" % (code, text))
    except (KeyError, OSError) as error:
        text += " (and no note could be written: %s: %s)" % (type(error).__name__, error)
    if not quiet and sys.stderr is not None:
        sys.stderr.write("opguard: this process is not captured: %s\n" % text)
