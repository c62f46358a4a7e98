/*
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

/**
 * @file
 * Runs thread blocks of kernels that are compiled for the CPU.
 */

#include <setjmp.h>
#include <stdio.h>
#include <ucontext.h>
#include <sys/mman.h>

#include "cuda_on_cpu.h"

#define MAX_THREADS 1024
#define STACK_SIZE  (64 << 10)
#define SHARED_SIZE (228 << 10)

typedef struct Thread {
    enum OnCPUState state;
    jmp_buf place;
    OnCPUIndex index;
    int nb_shared;
} Thread;

/// Parameters are passed by value, that is in memory: any kernel's are the beginning of these.
typedef struct Params {
    uint64_t words[512];
} Params;

OnCPU on_cpu;

static Thread thread[MAX_THREADS], *running;
static uint64_t shared_values[MAX_THREADS / WARP_SIZE][2][WARP_SIZE];
static int nb_threads;
static int nb_started;                              ///< that have a stack
static jmp_buf scheduler;
static ucontext_t first_context;
static char *stacks;
static void (*running_kernel)(Params);
static const Params *running_params;
static char shared_memory[SHARED_SIZE] __attribute__((aligned(128)));

static void stop(const char *why)
{
    fprintf(stderr, "CUDA on the CPU: %s\n", why);
    abort();
}

void on_cpu_yield(enum OnCPUState state)
{
    running->state = state;
    if (!_setjmp(running->place))
        _longjmp(scheduler, 1);
}

static void run_thread(void)
{
    for (;;) {
        running_kernel(*running_params);
        on_cpu_yield(ON_CPU_DONE);
    }
}

static void resume(int i)
{
    running = &thread[i];
    on_cpu.thread = running->index;
    on_cpu.lane   = i % WARP_SIZE;
    if (_setjmp(scheduler))
        return;
    if (i < nb_started)
        _longjmp(running->place, 1);
    nb_started = i + 1;
    getcontext(&first_context);
    first_context.uc_stack.ss_sp   = stacks + (size_t)i * STACK_SIZE;
    first_context.uc_stack.ss_size = STACK_SIZE;
    makecontext(&first_context, run_thread, 0);
    setcontext(&first_context);
}

/// Resume the lanes of a warp that are not done. @return where all that are not done are then
static enum OnCPUState resume_warp(int first, int reversed)
{
    const int nb = min(nb_threads - first, WARP_SIZE);
    enum OnCPUState state = ON_CPU_DONE;

    for (int n = 0; n < nb; n++) {
        Thread *t = &thread[first + (reversed ? nb - 1 - n : n)];

        if (t->state == ON_CPU_DONE)
            continue;
        resume(t - thread);
        if (t->state != ON_CPU_DONE && state != ON_CPU_DONE && t->state != state)
            stop("lanes of a warp wait for others that are elsewhere");
        state = t->state == ON_CPU_DONE ? state : t->state;
    }
    return state;
}

static void run_block(void)
{
    // every other thread block has its threads in the other order
    const int reversed = on_cpu.block.x % 2 && nb_started >= nb_threads;
    const int nb_warps = (nb_threads + WARP_SIZE - 1) / WARP_SIZE;
    int goes_on = 1;

    memset(shared_memory, 0xcd, sizeof(shared_memory));
    for (int i = 0; i < nb_threads; i++) {
        thread[i].state     = ON_CPU_IN_BLOCK_SYNC;
        thread[i].nb_shared = 0;
        thread[i].index     = { i % on_cpu.block_dim.x, i / on_cpu.block_dim.x % on_cpu.block_dim.y,
                                i / on_cpu.block_dim.x / on_cpu.block_dim.y };
    }
    while (goes_on) {
        goes_on = 0;
        for (int i = 0; i < nb_warps; i++) {
            const int first = (reversed ? nb_warps - 1 - i : i) * WARP_SIZE;
            enum OnCPUState state;

            do {
                state = resume_warp(first, reversed);
            } while (state == ON_CPU_IN_WARP_SYNC);
            goes_on |= state == ON_CPU_IN_BLOCK_SYNC;
        }
    }
}

const uint64_t *on_cpu_share(uint64_t value)
{
    // who is through may write the next value while others still read this one
    uint64_t *values = shared_values[(running - thread) / WARP_SIZE][running->nb_shared++ % 2];

    values[on_cpu.lane] = value;
    sync_warp();
    return values;
}

extern "C" void on_cpu_launch(void *kernel, const void *params,
                              const unsigned grid[3], const unsigned block[3])
{
    nb_threads = block[0] * block[1] * block[2];
    if (!stacks)
        stacks = (char *)mmap(NULL, (size_t)MAX_THREADS * STACK_SIZE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED || nb_threads > MAX_THREADS)
        stop("no memory, or too many threads");
    running_kernel   = (void (*)(Params))kernel;
    running_params   = (const Params *)params;
    on_cpu.shared    = shared_memory;
    on_cpu.grid_dim  = { grid[0], grid[1], grid[2] };
    on_cpu.block_dim = { block[0], block[1], block[2] };
    for (on_cpu.block.z = 0; on_cpu.block.z < grid[2]; on_cpu.block.z++)
        for (on_cpu.block.y = 0; on_cpu.block.y < grid[1]; on_cpu.block.y++)
            for (on_cpu.block.x = 0; on_cpu.block.x < grid[0]; on_cpu.block.x++)
                run_block();
}
