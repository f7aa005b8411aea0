"""`python -m bpd.cli`."""

from bpd.cli import main

main()
