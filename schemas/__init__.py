"""Wire types: what crosses Redis or HTTP. Versioned, frozen, and knowing nothing else of koi."""
