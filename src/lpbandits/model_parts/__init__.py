"""Parts of a model that have a class of their own."""
