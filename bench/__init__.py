"""How well memorist finds and what it costs, beside plain ways and floors measured in the same run: `python -m bench`.

Uses the public API only, as any user would. Times are CPU times, and what counts is the ratio to the floor: machines differ
and are noisy, ratios less so.
"""
