#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the kernels of a build need of each generation of GPUs, and the warps that fit:
  bench/occupancy.py BUILD [KERNEL...]
BUILD has libavfilter/vf_*_cuda.ptx; KERNEL is the begin of the names to show. ptxas, of the CUDA
toolkit, compiles for each GPU. Shared memory that the host chooses is not in what ptxas tells.
"""
import glob
import os
import re
import subprocess
import sys

# Of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability":
# per multiprocessor warps, blocks, bytes of shared memory.
GPUS = {
    "sm_75": ("Turing", 32, 16, 64 << 10),
    "sm_86": ("Ampere", 48, 16, 100 << 10),
    "sm_89": ("Ada", 48, 24, 100 << 10),
    "sm_90": ("Hopper", 64, 32, 228 << 10),
}
REGISTERS = 65536
# Registers are given to a warp by 256; each block has 1 KiB of shared memory besides from sm_80 on.
REGISTER_UNIT, RESERVED = 256, {"sm_75": 0}


def threads_of(ptx):
    return {kernel: int(limit) for kernel, limit in
            re.findall(r"\.entry (\w+)\([^{]*?\.maxntid (\d+)", open(ptx, encoding="ascii").read())}


def compiled(ptx, gpu):
    """Kernel -> (registers, shared memory, bytes spilled)."""
    text = subprocess.run(["ptxas", "-v", "-arch=" + gpu, "-o", "/dev/null", ptx],
                          check=True, capture_output=True, text=True).stderr
    found = {}
    for part in re.split(r"Compiling entry function '", text)[1:]:
        spills = re.search(r"(\d+) bytes spill stores", part)
        shared = re.search(r"(\d+) bytes smem", part)
        found[part.split("'")[0]] = (int(re.search(r"Used (\d+) registers", part)[1]),
                                     int(shared[1]) if shared else 0, int(spills[1]))
    return found


def warps(gpu, threads, registers, shared):
    _, most, blocks, memory = GPUS[gpu]
    each = (threads + 31) // 32
    of_registers = REGISTERS // (-(-registers * 32 // REGISTER_UNIT) * REGISTER_UNIT) // each
    of_memory = memory // (shared + RESERVED.get(gpu, 1024)) if shared else blocks
    return each * min(blocks, most // each, of_registers, of_memory), most


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wanted = tuple(sys.argv[2:] or [""])
    print("| kernel | threads | shared memory | " +
          " | ".join("%s (%s)" % (GPUS[gpu][0], gpu) for gpu in GPUS) + " |")
    print("|---" * (3 + len(GPUS)) + "|")
    for ptx in sorted(glob.glob(os.path.join(sys.argv[1], "libavfilter/vf_*_cuda.ptx"))):
        threads = {kernel: n for kernel, n in threads_of(ptx).items() if kernel.startswith(wanted)}
        use = {gpu: compiled(ptx, gpu) for gpu in GPUS} if threads else {}
        for kernel, n in threads.items():
            cells = []
            for gpu, kernels in use.items():
                registers, shared, spilled = kernels[kernel]
                cells.append("%d, %d of %d warps" % (registers, *warps(gpu, n, registers, shared)) +
                             (", %d bytes spilled" % spilled if spilled else ""))
            print("| `%s` | %d | %.1f KiB | %s |" % (kernel, n, shared / 1024, " | ".join(cells)))


if __name__ == "__main__":
    main()
