"""What a finding needs to be certain, besides a law that is broken on every path.

To say that nothing clears, or that nothing spends, is to say that whatever does was seen. Where
something close by does clear or spend, and only seems to be for other cells, the mistake is more
often ours than the program's: such a finding is possible, and no more.

`by_rule` has the ground of each rule, those that take more than a few lines in a file of their own.
All of them look at the code through a `Sight`.
"""
