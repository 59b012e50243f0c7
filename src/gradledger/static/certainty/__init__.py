"""From a breach and its circumstances to certain, likely or possible.

`findings` decides, in five steps; `conditions` and `by_rule` have what each rule asks for, with a
file for each rule that needs code of its own; `notes` has the table of what speaks against which
rule; `sight` tells how well the code around a finding is understood.
"""
