"""The arbitration queue: what two readers see differently, settled by a model or by people."""
