"""Runs the tests of the installed kazoo that it is told on its input.

It says "test NAME" for each test that there is, and then "ready". A line on the input is the name of a test. The
answer is {"outcome": ..., "said": ...}.
"""
import json
import os
import sys

import pytest

lines = os.fdopen(os.dup(0))  # pytest takes the standard ones, and tells its own progress on the output
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(line):
    out.write(line + "\n")
    out.flush()


def name(item_id):
    """test_lock.py::KazooLockTests::test_lock is test_lock.KazooLockTests.test_lock."""
    return item_id.split("/")[-1].replace(".py::", ".", 1).replace("::", ".")


class Worker:
    def pytest_runtestloop(self, session):
        items = {name(item.nodeid): item for item in session.items}
        for test in items:
            say("test " + test)
        say("ready")
        for line in lines:
            self.outcome, self.said = "passed", ""
            item = items[line.strip()]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            say(json.dumps({"outcome": self.outcome, "said": self.said[-6000:]}))
        return True

    def pytest_runtest_logreport(self, report):
        """Setting up, the test, and tearing down are reports of their own."""
        if report.failed or report.skipped and self.outcome == "passed":
            self.outcome = report.outcome
            self.said += report.when + ": " + str(report.longrepr) + "\n"


options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:warnings", "-o", "faulthandler_timeout=60"]
sys.exit(pytest.main(options + ["--pyargs", "kazoo.tests"], plugins=[Worker()]))
