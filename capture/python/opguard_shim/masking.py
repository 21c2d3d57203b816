"""Masks secrets before anything is written."""
import re

MASK = "***"
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_OPTION = re.compile(r"^(--?[^=]+)(=(.*))?$", re.DOTALL)


def variable(name, value):
    """The value of an environment variable, masked if its name says that it is a secret."""
    return MASK if any(word in name.upper() for word in _SECRET) else text(value)


def text(value):
    """Masks user:password in URLs."""
    return _USER_INFO.sub(MASK, value)


def arguments(argv):
    """Masks the values of options such as --api-key=X and --hf-token X."""
    masked, hide = [], False
    for argument in argv:
        option = _OPTION.match(argument)
        secret = option is not None and _secret_option(option.group(1))
        if secret:
            masked.append(option.group(1) + "=" + MASK if option.group(2) else argument)
        else:
            masked.append(MASK if hide and option is None else text(argument))
        hide = secret and not option.group(2)
    return masked


def _secret_option(name):
    last = re.split(r"[-_.]", name)[-1].upper()
    return last in _SECRET or last in ("APIKEY", "CREDENTIALS")
