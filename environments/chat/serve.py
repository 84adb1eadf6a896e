"""Synapse without its check of optional extras.

It refuses to start when another package of the same environment pins, say, beautifulsoup4 below
what one of its unused extras would like.

Usage: serve.py -c HOMESERVER.YAML [--generate-keys]
"""

import synapse.util.check_dependencies as checks

checks.check_requirements = lambda extra=None: None  # noqa: ARG005

from synapse.app.homeserver import main  # noqa: E402 - after the check is out of the way

main()
