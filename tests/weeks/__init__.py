"""The parts of `ordinary_weeks.py`: who lives there, what they write, what must come of it."""
