"""Several processes at one queue, some of them killed: each case is settled exactly once."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from disputed import dispute, opened

#: Children of one process, so that imports are paid for once. Once each has a case, each settles
#: what it is lent and writes down every verdict that it was told was taken; one that is killed is
#: begun again under the same name.
PEOPLE = """
import json, os, random, signal, sys, time
sys.path[:0] = {paths!r}
from pathlib import Path
from disputed import ALLOW, REFUSE, opened

folder, names, kills = Path({folder!r}), {names!r}, {kills}
chance = random.Random({seed})

def work(name):
    with opened(folder) as queue, open(folder / f"told-{{name}}", "a") as told:
        while (claim := queue.claim(name)) is not None:
            (folder / f"holds-{{name}}").touch()
            while not all((folder / f"holds-{{each}}").exists() for each in names):
                time.sleep(0.002)
            given = queue.settle(claim.token, REFUSE if len(name) % 2 else ALLOW)
            told.write(f"{{given.verdict.item}} {{given.number}}\\n")
            told.flush()

def begin(name):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(name)
            code = 0
        finally:
            os._exit(code)
    return child

children = {{begin(name): name for name in names}}
codes = []
while children:
    if kills:
        time.sleep(chance.uniform(0.0, 0.25))
        child = chance.choice(sorted(children))
        os.kill(child, signal.SIGKILL)
        kills -= 1
    child, status = os.waitpid(-1, 0)
    name = children.pop(child)
    if os.WIFSIGNALED(status):
        children[begin(name)] = name
    else:
        codes.append(os.waitstatus_to_exitcode(status))
print(json.dumps(codes))
"""


def settled_by(folder, names, kills, seed, cases):
    with opened(folder) as queue:
        queue.fill(dispute(number) for number in range(cases))
    code = PEOPLE.format(paths=sys.path[:], folder=str(folder), names=names, kills=kills, seed=seed)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == {0}, done.stderr
    told = [
        tuple(line.split())
        for name in names
        for line in (folder / f"told-{name}").read_text().splitlines()
    ]
    with opened(folder) as queue:
        given = [(each.verdict.item, str(each.number)) for each in queue.given()]
        state = queue.state()
    return told, given, state


def test_processes_at_once_settle_each_case_exactly_once(tmp_path):
    names = ["ada", "ben", "cleo", "dan"]
    told, given, state = settled_by(tmp_path, names, 0, 0, 200)
    assert (state.settled, state.open, state.leased) == (200, 0, 0)
    assert len({item for item, _ in given}) == len(given) == 200
    assert sorted(told) == sorted(given)
    assert set(state.by) == set(names)  # each held a case before anybody settled one


def killed(tmp_path, seed, kills, cases):
    sys.stdout.write(f"seed {seed}\n")
    names = ["ada", "ben", "cleo"]
    told, given, state = settled_by(tmp_path, names, kills, seed, cases)
    assert (state.settled, state.open, state.leased) == (cases, 0, 0)
    assert len({item for item, _ in given}) == len(given) == cases
    # Whatever somebody was told was taken is there; a kill may come before the last was told.
    assert set(told) <= set(given)
    assert len(given) - len(told) <= kills


def test_kill_9_in_the_middle_loses_nothing_and_doubles_nothing(tmp_path):
    killed(tmp_path, random.randrange(10**6), 3, 80)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_many_kills(tmp_path, seed):
    killed(tmp_path, seed, 20, 200)
