"""The helpers of tests/capture, for the suites of this folder."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "capture"))
