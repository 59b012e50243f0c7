"""What `gradledger run` starts: scripts, modules, notebooks, installed commands."""
