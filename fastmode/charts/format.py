from fastmode.format import *  # noqa: F403
