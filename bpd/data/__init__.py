"""Data for translation: verified downloads, parallel text, the shared vocabulary, encoded pairs and batches.

Nothing here needs PyTorch. `prepare.prepare_text` turns a corpus into the folder that every later command reads.
"""
