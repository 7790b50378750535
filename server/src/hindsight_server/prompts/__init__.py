"""The words that language models are asked with, one versioned file each; `engine.language.prompts` reads them."""
