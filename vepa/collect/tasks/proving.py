"""The proof of many tasks, on one or several offices at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from vepa.collect.personas import Persona
from vepa.collect.tasks.checking import Problem, TaskReport, check_task
from vepa.collect.tasks.model import Task
from vepa.errors import RunError
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

    A service that fails is reset and the task proved again; failing twice is a problem of the
    report (`service_failed`), and the other tasks are proved all the same.

    Raises
    ------
    RunError
        When an office cannot be brought back.
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
                done.put(_proved(office, task, personas[task.persona], prompts))
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


def _proved(
    office: Office, task: Task, persona: Persona, prompts: Mapping[str, Prompt]
) -> TaskReport:
    for _ in range(2):
        try:
            return check_task(office, task, persona, prompts)
        except RunError as error:
            reason = str(error)
            office.reset(everything=True)
    return TaskReport(task.id, problems=[Problem("service_failed", "environments", reason)])
