"""OPGUARD_CAPTURE: `key=value` joined by `;`, values percent-encoded (ARCHITECTURE.md)."""
from urllib.parse import unquote


def parse(text):
    """Returns the configuration as a dict of strings; items without '=' are left out."""
    items = (item.partition("=") for item in text.split(";"))
    return {key: unquote(value) for key, equals, value in items if key and equals}
