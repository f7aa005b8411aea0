"""Commands: each composes the rooms into one kind of job; `bpd.cli` gives them their options."""
