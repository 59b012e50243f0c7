"""`python -m gradledger` is the command `gradledger`."""

import sys

from gradledger.cli import main

if __name__ == "__main__":
    sys.exit(main())
