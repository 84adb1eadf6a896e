"""Records of every format of traces, made from a number; one module a format."""
