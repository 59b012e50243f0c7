"""Every bound of the checker: how much it reads, follows and remembers, and what is beyond that.

Read them as `budget.MOST_READ`, so that a test which changes one changes it everywhere.
"""

from __future__ import annotations

# Following one root (a function or a script that trains). Beyond these, the root is unknown.
MOST_EVENTS = 600  # events in its program; more: unknown, "too much code"
MOST_VISITS = 40_000  # pages visited at its events; more: only its essential events are followed
MOST_OUTCOMES = 2_000  # different pages behind an event; more: the same
MOST_STATEMENTS = 2_500  # statements lowered; more: unknown, "too much code"
MOST_WORK = 6_000  # steps of lowering, also those that come to nothing; more: the same
MOST_INNER_CYCLES = 6  # whole cycles in an unknown root that are judged alone; more: unknown
MOST_GUESSES = 3  # cells that one backward may or may not reach; more: unknown

# Following all roots of a file together. Beyond these, the roots that are left are unknown.
MOST_VISITS_IN_A_FILE = 100_000  # pages visited
MOST_OUTCOMES_IN_A_FILE = 10_000  # different pages
MOST_STATEMENTS_IN_A_FILE = 9_000  # statements lowered
MOST_WORK_IN_A_FILE = 10_000  # steps of lowering
MOST_ROOTS_IN_A_FILE = 1_100  # roots

# Looking for the path that shows a finding. Beyond these, the finding has no witness.
MOST_WITNESS_STEPS = 3_000  # steps through one program, for all of its findings
MOST_WITNESS_STEPS_IN_A_FILE = 15_000  # steps for all findings of a file
LARGEST_WINDOW_COUNTED = 8  # micro-batches that a witness counts; of larger windows, two
MOST_STEPS_FOR_NEED = 1_500  # steps to learn which assumptions a program's paths need; more: all
MOST_STEPS_FOR_ONE_NEED = 400  # steps to learn that of one assumption; more: it is said
LONGEST_QUOTE = 60  # letters of a condition that is quoted; longer ones are cut

# What a step of lowering is, for the bounds above.
LETTERS_IN_A_STEP = 400  # letters of a table in the source; as much work as a statement
OPERANDS_IN_A_STEP = 100  # of an `and` or `or`; the square of more of them is counted
NAMES_IN_A_STEP = 256  # names in a store that take as long to compare as a statement

# How far calls and values are followed.
DEEPEST_CALL = 14  # calls inside one another; deeper ones are unknown calls
DEEPEST_CONSTRUCTION = 3  # functions and classes that make a parameter; deeper: not recognized
MOST_HANDED_ON = 3  # functions that hand a net on before one asks for parameters; more: not seen
MOST_TURNS = 4  # rounds of a short loop that are followed one by one; more: as any loop
MOST_ITEMS = 24  # items of a list or dict that are kept apart; more: one value for all of them
LONG_FUNCTION = 60  # lines; the loss that a longer function returns is not guessed
SMALL_FUNCTION = 16  # lines; a longer function that touches no gradients is not followed

DEEPEST_LINEAGE = 8  # bases of bases that are looked up; farther ones are not seen
MOST_ANCESTORS = 100  # classes of the project that a class descends from; more: not seen

# Other files of the project.
MOST_READ = 24  # files read for one that is checked; more: their names are unknown
MOST_FOLDERS_UP = 8  # folders above a file in which its imports may begin; higher: not found
MOST_FILES_BETWEEN = 3  # files between a loop and the step that it comes to; farther: not followed
MOST_WORDS_IN_A_LOOK = 8  # names looked for in import lines; with more, all lines are read
IMPORT_BYTES = 8_192  # bytes at the beginning of a file that its imports are in; later: not seen
FARTHEST_OWNER = 200  # letters before a method in which its owner is; farther: it has none

# Reading files that people write: these only stop input that is not meant to be read.
LONGEST_IMPORT = 5_000  # dots of one import; a text with more is not parsed
LONGEST_SOURCE = 2_000_000  # letters; a longer text is not parsed
MOST_FORMATTING = 2_000_000_000  # braces times letters of f-strings; more: not parsed before 3.12
MOST_IGNORE_BYTES = 100_000  # of a .gitignore; the rest is not read
LONGEST_PATTERN = 4_096  # letters of a line in it; a longer one is left out: no path is as long
FEW_STARS = 3  # stars of a pattern that `re` matches; with more, our own matcher is used
LONGEST_GIT_PATH = 4_096  # bytes of the file that says where git's folder is; the rest is not read
MOST_MISTAKES = 100  # mistaken ignore comments reported for a file; more: not reported
LONGEST_MISSPELLING = 50  # letters; a longer word is no misspelling of `ignore`

# Processes and memory.
MOST_NAMED = 16  # files that a person names; with more, those without gradients are not parsed
FILES_WORTH_A_PROCESS = 500  # files to look at; fewer: in this process
WORK_WORTH_A_PROCESS = 50_000  # bytes of work to check; less: in this process
MOST_OUTCOMES_KEPT = 10_000  # different pages kept for the next file; more: worked out again
MOST_SOURCE_KEPT = 8_000_000  # bytes of source whose trees are kept; more: parsed again

# The cache.
FILES_WORTH_A_CACHE = 16  # files in a run; fewer: checked without a cache
MOST_CACHE_BYTES = 500_000_000  # of a cache file; a larger one is ignored
MOST_CACHES = 200  # cache files that are kept; more: those used longest ago are removed
TOO_FRESH = 2_000_000_000  # nanoseconds; the result of a file changed since then is not kept
LARGEST_NUMBER = 1 << 31  # lines, columns and counts; a cache with a larger one is ignored
LARGEST_STAMP = 1 << 64  # dates and sizes; a cache with a larger one is ignored
LONGEST_CALL_CHAIN = 200  # calls that lead to a place; a cache with a longer one is ignored

# Fixes.
LONGEST_FIX_CHAIN = 3  # edits that one cure may take; with more, there is no fix

# What is played.
MOST_EVENTS_PLAYED = 240  # events that a reader is shown; a longer play ends there
MOST_MOVES_PLAYED = 20_000  # steps through the program; a longer play ends there
ROUNDS_PLAYED = 3  # of a loop that has no windows
OUTER_ROUNDS_PLAYED = 2  # of a loop around another one: epochs
LONGEST_PLAYED_TWICE = 8  # micro-batches of a window; a longer one is shown once
