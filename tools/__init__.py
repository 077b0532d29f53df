"""What a model can do for a person: one family of tools a file. Decided here as values, carried out by workers."""
