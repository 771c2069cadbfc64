"""Fit of the serving constants to published measurements, and what each fit misses when rows are left out.

rows: the measured rows. fit: the robust fit. judge: leave-group-out errors. spread: the bands. sram: wafers and machines of many
small SRAM chips. command: what `python -m fastmode calibrate` does.
"""

from fastmode.calibration.command import METHOD, Calibration, calibrate, fit_count, summary, write

__all__ = ["METHOD", "Calibration", "calibrate", "fit_count", "summary", "write"]
