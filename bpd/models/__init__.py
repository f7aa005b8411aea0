"""Models: the encoder–decoder Transformer, its proposal heads, and the decoders that they offer."""
