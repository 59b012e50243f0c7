"""`python -m gradledger` is the command `gradledger`."""

from gradledger.cli import start

if __name__ == "__main__":
    start()
