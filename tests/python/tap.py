# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: unittest that prints TAP."""

import gc
import os
import sys
import unittest

import leasehold


class Tap(unittest.TestResult):
    def told(self, test, ok, why=""):
        for line in why.splitlines():
            print("#", line)
        print("%s %d - %s" % ("ok" if ok else "not ok", self.testsRun,
                              test.id().split(".", 1)[1]), flush=True)

    def addSuccess(self, test):
        self.told(test, True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.told(test, False, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.told(test, False, self.errors[-1][1])


def run(module, table):
    """Runs the cases of a module, and removes their table, which fails if a
    process or this one has something in it still."""
    result = Tap()
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    tests.run(result)
    del tests
    gc.collect()
    leasehold.remove_table(table)
    os.unlink("/dev/shm/leasehold.%d/%s.floor" % (os.geteuid(), table))
    print("1..%d" % result.testsRun)
    sys.exit(not result.wasSuccessful())
