"""Labels: the taxonomy's judgements of steps, by models, recordings, scripts and people."""
