"""`memorist bench`: what the engine costs on this machine, beside a floor measured in the same run.

Uses the public API only, as any user would. Times are CPU times, and what counts is the ratio to the floor: machines differ
and are noisy, ratios less so.
"""
