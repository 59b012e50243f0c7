"""Makes what is published: `make dist`. CONTRIBUTING, "Releasing", says how a release is made."""
