"""stub"""
def generate_corpus(config): raise NotImplementedError
