"""The two runtimes behind one interface."""

from vepa.services.places import Places
from vepa.services.runtimes.base import Condition, Progress, Runtime, RuntimeName, Slot

__all__ = ["Condition", "Progress", "Runtime", "RuntimeName", "Slot", "make_runtime"]


def make_runtime(name: RuntimeName, root: Places | None = None) -> Runtime:
    """The runtime of that name, over the cache folder `root` (the ordinary one by default).

    Raises
    ------
    InputError
        When there is none, or its engine cannot be reached.
    """
    from vepa.errors import SettingError

    if name == "process":
        from vepa.services.runtimes.process_runtime import ProcessRuntime

        return ProcessRuntime(root)
    if name == "docker":
        from vepa.services.runtimes.docker_runtime import DockerRuntime

        return DockerRuntime(root)
    raise SettingError(f"there is no runtime {name!r}", remedy="process or docker")
