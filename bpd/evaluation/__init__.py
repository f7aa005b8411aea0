"""Evaluation: decode records, accepted blocks, BLEU and the scores made of them."""
