"""Training: loss, schedule, journal, checkpoints and the loop over them."""
