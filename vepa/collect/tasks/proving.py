"""The proof of many tasks, on one or several offices at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from vepa.collect.personas import Persona
from vepa.collect.tasks.checking import TaskReport, check_task
from vepa.collect.tasks.model import Task
from vepa.llm.prompts import Prompt
from vepa.services.office import Office

__all__ = ["prove"]


def prove(
    offices: Sequence[Office],
    tasks: Sequence[Task],
    personas: Mapping[str, Persona],
    prompts: Mapping[str, Prompt],
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[TaskReport]:
    """Prove tasks, each on whichever office is free; reports as they are done.

    Parameters
    ----------
    offices
        Where; each takes one task at a time.
    tasks, personas, prompts
        What.
    stopped
        Asked before each task whether to go on.

    Raises
    ------
    RunError
        When a service fails.
    """
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    done: queue.SimpleQueue[TaskReport | BaseException] = queue.SimpleQueue()
    halted = threading.Event()

    def work(office: Office) -> None:
        while not halted.is_set() and not stopped():
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(check_task(office, task, personas[task.persona], prompts))
            except BaseException as error:  # noqa: BLE001 - it is raised where it can be seen
                done.put(error)
                return

    threads = [threading.Thread(target=work, args=(office,), daemon=True) for office in offices]
    for thread in threads:
        thread.start()
    try:
        for _ in tasks:
            report = done.get()
            if isinstance(report, BaseException):
                raise report
            yield report
    finally:
        halted.set()
        for thread in threads:
            thread.join()
