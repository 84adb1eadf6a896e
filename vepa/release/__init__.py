"""Releases: a corpus as a product that can be published, cited, loaded, checked and made again."""
