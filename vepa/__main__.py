"""`python -m vepa`: the command line without its script."""

import sys

from vepa.cli import main

sys.exit(main())
