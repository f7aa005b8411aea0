"""Decoding: greedy, blockwise parallel and beam search, over models known only through one small protocol.

`greedy.greedy` and `blockwise.blockwise` are siblings: one signature, one result type (`results.Decoded`), and with the
exact criterion one output. `acceptance` holds the criteria, `batched` decodes whole sets.
"""
