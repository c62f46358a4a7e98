"""The tools around FFmpeg's quality filters: a command runs the file of its name.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import os
import runpy
import sys


def main():
    name = os.path.basename(sys.argv[0]).removesuffix('.exe')
    folder = 'farm' if name == 'quality-farm' else 'report'
    runpy.run_path(os.path.join(os.path.dirname(__file__), folder, name), run_name='__main__')
