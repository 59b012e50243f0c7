"""Windows over many ranks: torch moves the gradients, the ranks agree on what to make of them.

Once for each window the ranks meet. What each has added up goes, times its items, through torch's
own reduction, and next to it a few numbers: how many items there were, whether somebody failed,
whose data has ended. So all know the same, and make the same of it.
"""
