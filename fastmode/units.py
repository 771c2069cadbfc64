"""Conversions that more than one module needs."""

SECONDS_PER_HOUR = 3600.0
TOKENS_PER_MTOK = 1e6  # prices are per million tokens
