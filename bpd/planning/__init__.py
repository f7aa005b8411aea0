"""Planning: which jobs a configuration asks for, what each has to do, and what that takes of cards, time and disk."""
