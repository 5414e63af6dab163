# SPDX-License-Identifier: MIT
"""Adds the version, which include/leasehold/version.h alone says."""

import pathlib
import re

from setuptools import setup

header = (pathlib.Path(__file__).resolve().parents[2] /
          "include/leasehold/version.h").read_text()
setup(version=".".join(
    re.findall(r"^#define LEASEHOLD_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$",
               header, re.M)))
