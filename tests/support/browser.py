"""A real browser, driven by the scenarios of tests/browser through playwright-core."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess

import pytest

from support.server import ROOT, Lines

FOLDER = ROOT / "tests" / "browser"
INSTALL_TIMEOUT_S = 240
SCENARIO_TIMEOUT_S = 150
END_TIMEOUT_S = 20

needs_browser = pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium here")


def install(folder):
    """Where playwright-core is below `folder`. It is installed by whoever comes first, outside the tree."""
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(FOLDER / name, folder)
            installed = subprocess.run(
                ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                capture_output=True, encoding="utf-8", timeout=INSTALL_TIMEOUT_S)
            assert installed.returncode == 0, installed.stderr
            done.touch()
    return folder / "node_modules"


class Browser:
    """A running one. Each scenario is played in it by visitors who were never there before."""

    def __init__(self, modules):
        self.process = subprocess.Popen(
            ["node", str(FOLDER / "driver.js"), shutil.which("chromium")], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NODE_PATH": str(modules)})
        self.answers = Lines(self.process.stdout)
        self.complaints = Lines(self.process.stderr)
        self.played = 0

    def play(self, scenario, url, **arguments):
        """What tests/browser/scenarios/`scenario`.js returns; its failure is one of the test."""
        self.process.stdin.write(json.dumps({"scenario": scenario, "url": url, **arguments}) + "\n")
        self.process.stdin.flush()
        self.played += 1
        answered = self.answers.wait_for(lambda lines: len(lines) >= self.played, SCENARIO_TIMEOUT_S)
        assert answered, f"{scenario}: no answer from the browser\n{self.complaints.text}"
        answer = json.loads(self.answers.all[self.played - 1])
        assert "failure" not in answer, f"{scenario}: {answer['failure']}"
        return answer["value"]

    def close(self):
        """The driver ends the browser when its input ends, and also when it is asked to end itself."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        for end in (self.process.terminate, self.process.kill):
            try:
                status = self.process.wait(END_TIMEOUT_S)
                break
            except subprocess.TimeoutExpired:
                end()
        else:
            status = self.process.wait()
        assert status == 0, self.complaints.text
