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

/// What a thread of a thread block does.
enum State { READY, IN_BLOCK_SYNC, IN_WARP_SYNC, DONE, NB_STATES };

typedef struct Thread {
    enum State state;
    jmp_buf place;
    OnCPUIndex index;
    int nb_shared;
} Thread;

typedef struct Warp {
    int nb[NB_STATES];                              ///< threads that are in each state
    uint64_t shared[2][WARP_SIZE];
} Warp;

extern "C" {
OnCPU on_cpu;
void on_cpu_launch(void (*kernel)(const void *), const void *params,
                   const unsigned grid[3], const unsigned block[3]);
}

static Thread thread[MAX_THREADS], *running;
static Warp warp[MAX_THREADS / WARP_SIZE];
static int nb_threads, nb_warps;
static int nb_started;                              ///< that have a stack
static jmp_buf scheduler;
static ucontext_t first_context;
static char *stacks;
static void (*running_kernel)(const void *);
static const void *running_params;
static char shared_memory[SHARED_SIZE] __attribute__((aligned(128)));

static void stop(const char *why)
{
    fprintf(stderr, "CUDA on the CPU: %s\n", why);
    abort();
}

static Warp *warp_of(const Thread *t)
{
    return &warp[(t - thread) / WARP_SIZE];
}

/// Let others run until this state is over.
static void yield(enum State state)
{
    running->state = state;
    warp_of(running)->nb[state]++;
    if (!_setjmp(running->place))
        _longjmp(scheduler, 1);
}

static void run_thread(void)
{
    for (;;) {
        running_kernel(running_params);
        yield(DONE);
    }
}

static void resume(int i)
{
    running = &thread[i];
    warp_of(running)->nb[running->state]--;
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

/// Resume threads that are in a state; every other thread block has them in the other order.
static void resume_all(int begin, int end, enum State state)
{
    for (int n = begin; n < end; n++) {
        const int i = on_cpu.block.x % 2 && nb_started >= end ? begin + end - 1 - n : n;

        if (thread[i].state == state)
            resume(i);
    }
}

/// How many threads of all are in a state.
static int count(enum State state)
{
    int nb = 0;

    for (int i = 0; i < nb_warps; i++)
        nb += warp[i].nb[state];
    return nb;
}

static void run_block(void)
{
    memset(shared_memory, 0xcd, sizeof(shared_memory));
    memset(warp, 0, sizeof(warp));
    for (int i = 0; i < nb_threads; i++) {
        warp[i / WARP_SIZE].nb[READY]++;
        thread[i].state     = READY;
        thread[i].nb_shared = 0;
        thread[i].index     = { i % on_cpu.block_dim.x, i / on_cpu.block_dim.x % on_cpu.block_dim.y,
                                i / on_cpu.block_dim.x / on_cpu.block_dim.y };
    }
    resume_all(0, nb_threads, READY);
    while (count(DONE) < nb_threads) {
        int goes_on = 0;

        if (count(DONE) + count(IN_BLOCK_SYNC) == nb_threads) {
            resume_all(0, nb_threads, IN_BLOCK_SYNC);
            continue;
        }
        // all lanes of a warp, but those that are done
        for (int i = 0; i < nb_warps; i++) {
            if (!warp[i].nb[IN_WARP_SYNC] || warp[i].nb[IN_BLOCK_SYNC])
                continue;
            resume_all(i * WARP_SIZE, min((i + 1) * WARP_SIZE, nb_threads), IN_WARP_SYNC);
            goes_on = 1;
        }
        if (!goes_on)
            stop("threads, or lanes of a warp, wait for others that are elsewhere");
    }
}

void on_cpu_sync_threads(void)
{
    yield(IN_BLOCK_SYNC);
}

void on_cpu_sync_warp(void)
{
    yield(IN_WARP_SYNC);
}

const uint64_t *on_cpu_share(uint64_t value)
{
    // who is through may write the next value while others still read this one
    uint64_t *values = warp_of(running)->shared[running->nb_shared++ % 2];

    values[on_cpu.lane] = value;
    on_cpu_sync_warp();
    return values;
}

void on_cpu_launch(void (*kernel)(const void *), const void *params,
                   const unsigned grid[3], const unsigned block[3])
{
    nb_threads = block[0] * block[1] * block[2];
    nb_warps   = (nb_threads + WARP_SIZE - 1) / WARP_SIZE;
    if (!stacks)
        stacks = (char *)mmap(NULL, (size_t)MAX_THREADS * STACK_SIZE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED || nb_threads > MAX_THREADS)
        stop("no memory, or too many threads");
    running_kernel   = kernel;
    running_params   = params;
    on_cpu.shared    = shared_memory;
    on_cpu.grid_dim  = { grid[0], grid[1], grid[2] };
    on_cpu.block_dim = { block[0], block[1], block[2] };
    for (on_cpu.block.z = 0; on_cpu.block.z < grid[2]; on_cpu.block.z++)
        for (on_cpu.block.y = 0; on_cpu.block.y < grid[1]; on_cpu.block.y++)
            for (on_cpu.block.x = 0; on_cpu.block.x < grid[0]; on_cpu.block.x++)
                run_block();
}
