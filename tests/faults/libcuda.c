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
 * A stand-in for the CUDA driver, to test what the CUDA filters do
 * on the host where there is no GPU
 *
 * Built as libcuda.so.1 and found by LD_LIBRARY_PATH, it keeps
 * the books: contexts that are pushed and popped, memory, streams, events and
 * modules. What is left at the end, and each call that a driver would
 * refuse or that would read or write beyond memory, is an error. Errors are printed,
 * and the process exits with 99.
 *
 * What is enqueued is done as late as may be: when something waits for it. Device
 * pointers are addresses that nobody may read. Kernels do not run, unless that is asked
 * for, since it takes its time: those of our filters are stood in for by functions that look
 * whether the memory they are given is there, and that make a number of the pictures
 * for a result, so that a result shows whose it is.
 *
 * The variable CUDA_STAND_IN holds options, as in "fail=3,delay=5":
 *
 *   report=FILE   where to print: "calls N", "failed NAME", "error: ..." and "left: ..."; stderr if not given
 *   fail=N        the Nth call fails
 *   code=C        with this error
 *   broken=1      and so do all behind it, as after a kernel's failure
 *   delay=K       events are ready after 0 to K queries
 *   devices=N     how many there are
 *   major=N       their compute capability
 *   computes=1    kernels run, on the CPU
 *
 * A program may change fail and broken while it runs, by stand_in_fail().
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libavfilter/vf_bliinds_cuda.h"
#include "libavfilter/vf_blocksmooth_cuda.h"
#include "libavfilter/vf_detailloss_cuda.h"
#include "libavfilter/vf_mad_cuda.h"
#include "libavfilter/vf_ssim_cuda.h"

#include <ffnvcodec/dynlink_cuda.h>

/// Errors that <ffnvcodec/dynlink_cuda.h> does not name.
enum {
    INVALID_VALUE    = 1,
    OUT_OF_MEMORY    = 2,
    NOT_INITIALIZED  = 3,
    INVALID_DEVICE   = 101,
    INVALID_CONTEXT  = 201,
    INVALID_PTX      = 218,
    INVALID_HANDLE   = 400,
    NOT_FOUND        = 500,
    NOT_SUPPORTED    = 801,
};

#define NB_MULTIPROCESSORS 4
#define PLAIN_SHARED_SIZE  (48  << 10)
#define MOST_SHARED_SIZE   (227 << 10)
#define MAX_DEVICES        8
#define MAX_PUSHED         16
#define PAGE               4096L
#define ALIGNMENT          256
#define EXIT_STATUS        99

enum Kind { CONTEXT, STREAM, EVENT, MODULE, FUNCTION };
static const char *const kind_name[] = {
    "context", "stream", "event", "module", "function"
};

/// Whatever the driver hands out but memory; never freed, so that handles stay unique.
typedef struct Object {
    struct Object *next;
    enum Kind kind;
    int alive;
    struct Object *context;         ///< of all but contexts
    // contexts
    int device;
    struct Object *default_stream;
    // streams
    struct Operation *first, **last;
    int own_queue;                  ///< 0: in order with the default stream
    // events
    struct Operation *record;       ///< that is not done yet
    struct Object *record_stream;
    int nb_queries;                 ///< until it is ready
    // modules and functions
    char *ptx, *name;
    const struct Object *module;
    const struct Kernel *kernel;
    size_t params_size, max_shared;
    unsigned max_threads;
} Object;

/// Device memory, or pinned memory of the host.
typedef struct Memory {
    CUdeviceptr address;
    size_t size;
    uint8_t *data;
    Object *context;
    int pinned, alive;
} Memory;

enum OperationKind { COPY, SET, LAUNCH, RECORD };

/// What is enqueued in a stream.
typedef struct Operation {
    struct Operation *next;
    enum OperationKind kind;
    const char *function;           ///< that enqueued it
    CUDA_MEMCPY2D copy;
    void *staged;                   ///< the source's bytes, where the driver takes them at once
    unsigned sum;                   ///< of the source's bytes, where it does not
    CUdeviceptr address;
    size_t size;
    int value;
    Object *event, *launched;
    unsigned grid[3], block[3];
    void *params;
} Operation;

typedef struct Kernel {
    const char *name;
    size_t params_size;
    void (*run)(const Operation *op, const void *params, int sample_size);
    int sample_size;
    void (*compute)(const void *params);
} Kernel;

/// Of libavfilter/tests/cuda_on_cpu.cpp.
void on_cpu_launch(void (*kernel)(const void *), const void *params,
                   const unsigned grid[3], const unsigned block[3]);

/// The contexts that a thread has pushed.
typedef struct Pushed {
    struct Pushed *next;
    Object *context[MAX_PUSHED];
    int nb;
} Pushed;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local Pushed *pushed;
static Pushed *all_pushed;
static Object *objects;
static Memory *memory;
static int nb_memory;
static CUdeviceptr next_address, end_address;
static int nb_calls, nb_records, nb_errors, initialized;
static const char *function = "at the end";
static FILE *report;
static int fail_at, fail_code, broken, max_delay, nb_devices = 1, major = 9, computes;

// ---- the books ----

__attribute__((format(printf, 2, 3)))
static void tell(const char *kind, const char *format, ...)
{
    va_list args;

    nb_errors++;
    fprintf(report, "%s: %s: ", kind, function);
    va_start(args, format);
    vfprintf(report, format, args);
    va_end(args);
    fputc('\n', report);
}

/// What the caller does wrong, and what it leaves.
#define error(...) tell("error", __VA_ARGS__)
#define left(...)  tell("left",  __VA_ARGS__)

static void *allocate(size_t size)
{
    void *ptr = calloc(1, size);

    if (!ptr)
        abort();
    return ptr;
}

static Object *current(void)
{
    return pushed && pushed->nb ? pushed->context[pushed->nb - 1] : NULL;
}

/// Every function of the driver begins with this: it counts the call, or fails it.
static int enter(const char *name, int needs_context)
{
    pthread_mutex_lock(&mutex);
    function = name;
    nb_calls++;
    if (nb_calls == fail_at)
        fprintf(report, "failed %s\n", name);
    if (fail_at && (nb_calls == fail_at || broken && nb_calls > fail_at))
        return fail_code ? fail_code : CUDA_ERROR_UNKNOWN;
    if (!initialized && strcmp(name, "cuInit")) {
        error("before cuInit");
        return NOT_INITIALIZED;
    }
    if (needs_context && !current()) {
        error("no context is current");
        return INVALID_CONTEXT;
    }
    return 0;
}

static int leave(int res)
{
    pthread_mutex_unlock(&mutex);
    return res;
}

/// A call that a driver would refuse, too: the caller's fault.
static int refuse(int res, const char *why)
{
    error("%s", why);
    return res;
}

static Object *new_object(enum Kind kind)
{
    Object *object = allocate(sizeof(*object));

    object->kind    = kind;
    object->alive   = 1;
    object->context = kind == CONTEXT ? NULL : current();
    object->last    = &object->first;
    object->next    = objects;
    objects = object;
    return object;
}

static Object *find(const void *handle, enum Kind kind)
{
    for (Object *object = objects; object; object = object->next)
        if (object == handle && object->kind == kind) {
            if (!object->alive) {
                error("this %s was destroyed before", kind_name[kind]);
                return NULL;
            }
            if (object->context && object->context != current())
                error("this %s is another context's", kind_name[kind]);
            return object;
        }
    error("%p is no %s", handle, kind_name[kind]);
    return NULL;
}

/// The queue that operations of a stream go to.
static Object *find_stream(CUstream handle)
{
    Object *stream = handle ? find(handle, STREAM) : current()->default_stream;

    return !stream || stream->own_queue ? stream : current()->default_stream;
}

// ---- memory ----

static size_t page_size(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

/// Memory that kernels find at its address, the host elsewhere; it ends where a page ends.
static uint8_t *map_memory(size_t size, CUdeviceptr *address)
{
    const size_t begin = page_size(size) - (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *there = (void *)(uintptr_t)*address;
    uint8_t *data = mmap(NULL, page_size(size), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    // of 0 bytes: the same once more
    if (data == MAP_FAILED ||
        mremap(data, 0, page_size(size), MREMAP_MAYMOVE | MREMAP_FIXED, there) == MAP_FAILED ||
        mprotect(there, page_size(size), PROT_NONE))
        return NULL;
    *address += begin;
    return data + begin;
}

static int new_memory(size_t size, int pinned)
{
    CUdeviceptr address = next_address;
    uint8_t *data = NULL;

    if (!size) {
        error("no bytes");
        return -1;
    }
    if (end_address - next_address < size + 2 * PAGE)
        return -1;
    if (computes)
        data = map_memory(size, &address);
    else if (!posix_memalign((void **)&data, PAGE, size))
        memset(data, 0, size);
    if (!data)
        return -1;
    memory = realloc(memory, (nb_memory + 1) * sizeof(*memory));
    if (!memory)
        abort();
    memory[nb_memory] = (Memory){
        .address = address, .size = size, .data = data,
        .context = current(),  .pinned = pinned, .alive = 1,
    };
    next_address += (size + 2 * PAGE - 1) / PAGE * PAGE;
    return nb_memory++;
}

/// The memory that holds an address; addresses rise and are not used twice.
static Memory *find_memory(CUdeviceptr address)
{
    int low = 0, high = nb_memory;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (memory[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address - memory[low - 1].address < memory[low - 1].size ? &memory[low - 1] : NULL;
}

static Memory *find_pinned(const void *ptr)
{
    for (int i = 0; i < nb_memory; i++)
        if (memory[i].alive && memory[i].pinned && (const uint8_t *)ptr >= memory[i].data &&
            (const uint8_t *)ptr < memory[i].data + memory[i].size)
            return &memory[i];
    return NULL;
}

/// Where the bytes at a device address are, or NULL if not all of them are there.
static void *span(CUdeviceptr address, size_t size, const char *what)
{
    const Memory *m = find_memory(address);

    if (!m)
        error("%s: no memory at %#llx", what, address);
    else if (!m->alive)
        error("%s: memory of %zu bytes was freed before", what, m->size);
    else if (address - m->address + size > m->size)
        error("%s: %zu bytes at %llu of %zu", what, size, address - m->address, m->size);
    else
        return m->data + (address - m->address);
    return NULL;
}

static void *picture(CUdeviceptr address, int pitch, size_t width, int height, const char *what)
{
    if (pitch < 0 || width > pitch || height <= 0) {
        error("%s: %zu bytes in %d rows of %d", what, width, height, pitch);
        return NULL;
    }
    return span(address, (size_t)(height - 1) * pitch + width, what);
}

static void free_memory(Memory *m)
{
    if (computes) {
        munmap((void *)((uintptr_t)m->data & -PAGE), page_size(m->size));
        mmap((void *)(uintptr_t)(m->address & -PAGE), page_size(m->size), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    } else
        free(m->data);
    m->data  = NULL;
    m->alive = 0;
}

// ---- kernels ----

/// A number that is another for another picture.
static uint32_t sum_picture(CUdeviceptr address, int pitch, size_t width, int height,
                            const char *what)
{
    const uint8_t *data = picture(address, pitch, width, height, what);
    uint32_t sum = 1;

    for (int y = 0; data && y < height; y++)
        for (size_t x = 0; x < width; x++)
            sum = sum * 31 + data[(size_t)y * pitch + x];
    return sum;
}

static void fake_bliinds_blocks(const Operation *op, const void *data, int sample_size)
{
    const BLIINDSCUDAParams *p = data;
    BLIINDSCUDAState *state = span(p->state, op->grid[1] * sizeof(*state), "state");

    span(p->blocks, op->grid[1] * p->frame_size, "blocks");
    span(p->gamma_table, sizeof(float), "gamma_table");
    for (int i = 0; state && i < op->grid[1]; i++)
        state[i].sums[0].pooled[0].worst.whole =
            sum_picture(p->frame[i].src, p->frame[i].pitch,
                        (size_t)p->level[0].w * sample_size, p->level[0].h, "src");
}

static void fake_bliinds_pool(const Operation *op, const void *data, int sample_size)
{
    const BLIINDSCUDAParams *p = data;

    span(p->blocks, p->frame_size, "blocks");
}

static void fake_bliinds_choose(const Operation *op, const void *data, int sample_size)
{
    const BLIINDSCUDAParams *p = data;
    BLIINDSCUDAState *state = span(p->state, op->grid[1] * sizeof(*state), "state");

    for (int i = 0; state && i < op->grid[1]; i++) {
        BLIINDSLevelSums *result = span(p->frame[i].result, sizeof(state->sums), "result");
        uint64_t *sum = &state[i].sums[0].pooled[0].worst.whole;

        if (result)
            memset(result, 0, sizeof(state->sums));
        for (int l = 0; result && l < BLIINDS_LEVELS; l++)
            for (int j = 0; j < BLIINDS_NB_STATISTICS; j++) {
                BLIINDSPooled *pooled = &result[l].pooled[j];

                pooled->grid[0].whole = pooled->grid[1].whole = pooled->worst.whole = *sum % 1000;
            }
        *sum = 0;
    }
}

static void fake_bliinds_bands(const Operation *op, const void *data, int sample_size)
{
    const BLIINDSCUDAParams *p = data;
    BLIINDSCUDAState *state = span(p->state, op->grid[1] * sizeof(*state), "state");

    for (int i = 0; state && i < op->grid[1]; i++)
        state[i].sums[0].band[0][0].whole =
            sum_picture(p->frame[i].src, p->frame[i].pitch,
                        (size_t)p->level[0].w * sample_size, p->level[0].h, "src") % 1000;
}

static void fake_bliinds_bands_end(const Operation *op, const void *data, int sample_size)
{
    const BLIINDSCUDAParams *p = data;
    BLIINDSCUDAState *state = span(p->state, op->grid[1] * sizeof(*state), "state");

    for (int i = 0; state && i < op->grid[1]; i++) {
        BLIINDSLevelSums *result = span(p->frame[i].result, sizeof(state->sums), "result");

        if (result)
            memcpy(result, state[i].sums, sizeof(state->sums));
        memset(state[i].sums, 0, sizeof(state[i].sums));
    }
}

static void fake_ssim(const Operation *op, const void *data, int sample_size)
{
    const SSIMCUDAParams *p = data;

    span(p->state, op->grid[1] * sizeof(SSIMCUDAState), "state");
    for (int i = 0; i < op->grid[1]; i++) {
        SSIMCUDAResult *result = span(p->pair[i].result, sizeof(*result), "result");

        for (int j = 0; j < p->nb_planes; j++) {
            const SSIMCUDAPlane *plane = &p->plane[j];
            const size_t width = (size_t)plane->bw * 4 * plane->nb_channels * sample_size;
            const uint32_t sum = sum_picture(p->pair[i].main[j], p->pair[i].main_pitch[j], width,
                                             plane->bh * 4, "main") +
                             7 * sum_picture(p->pair[i].ref[j], p->pair[i].ref_pitch[j], width,
                                             plane->bh * 4, "ref");

            for (int k = 0; result && k < plane->nb_channels; k++)
                result->sum[plane->component[k]] = (int64_t)(sum & 0xffffff) << (SSIM_FRAC_BITS - 24);
        }
    }
}

static void fake_mad_load(const Operation *op, const void *data, int sample_size)
{
    const MADCUDAParams *p = data;
    float *first = span(p->first, PAIR_NB * sizeof(*first), "first");

    span(p->plane, (size_t)MAD_PLANES * p->h * p->pitch * sizeof(float), "plane");
    for (int i = 0; first && i < PAIR_NB; i++) {
        const MADCUDAImage *image = &p->image[i];

        span(image->lightness, (image->white + 1) * sizeof(float), "lightness");
        first[i] = sum_picture(image->src, image->pitch, (size_t)p->w * sample_size, p->h,
                               "src") % 1000;
    }
}

/// What the kernels between the first and the last one are given.
static void fake_mad(const Operation *op, const void *data, int sample_size)
{
    const MADCUDAParams *p = data;
    const size_t nb_cells = (size_t)(p->nb_x + MAD_BLOCK_CELLS - 1) * (p->nb_y + MAD_BLOCK_CELLS - 1);
    const size_t map_size = (size_t)p->nb_x * p->nb_y * sizeof(float);

    span(p->spectrum, (size_t)MAD_PLANES * p->h * p->half_pitch * 2 * sizeof(float), "spectrum");
    span(p->csf, (size_t)p->h * p->half_pitch * sizeof(float), "csf");
    span(p->polar, (size_t)(p->h / 2 + 1) * p->half_pitch * 2 * sizeof(float), "polar");
    span(p->response, (size_t)p->nb_filters * PAIR_NB * p->h * p->pitch * 2 * sizeof(float), "response");
    span(p->cells, (size_t)MAD_ORIENTATIONS * PAIR_NB * nb_cells * 4 * sizeof(float), "cells");
    span(p->detection, map_size, "detection");
    span(p->appearance, map_size, "appearance");
    span(p->column_table, ff_fft_table_size(&p->column_plan) * 2 * sizeof(float), "column_table");
    span(p->row_table, ff_fft_table_size(&p->row_plan) * 2 * sizeof(float), "row_table");
}

static void fake_mad_large(const Operation *op, const void *data, int sample_size)
{
    const MADCUDAParams *p = data;

    fake_mad(op, data, sample_size);
    span(p->scratch, FFT_SCRATCH_BLOCKS * p->scratch_size * 2 * sizeof(float), "scratch");
}

static void fake_mad_pool(const Operation *op, const void *data, int sample_size)
{
    const MADCUDAParams *p = data;
    const float *first     = span(p->first, PAIR_NB * sizeof(*first), "first");
    MADCUDAResult *result  = span(p->result, sizeof(*result), "result");

    span(p->partial, MAD_POOL_BLOCKS * sizeof(*result), "partial");
    span(p->nb_done, sizeof(unsigned), "nb_done");
    if (first && result)
        *result = (MADCUDAResult){ first[PAIR_REFERENCE], first[PAIR_MAIN] };
}

/// Copies, where there is something to copy.
static void fake_blocksmooth(const Operation *op, const void *data, int sample_size)
{
    const BlockSmoothCUDAParams *p = data;

    for (int i = 0; i < BLOCKSMOOTH_MAX_PLANES; i++) {
        const BlockSmoothCUDAPlane *plane = &p->plane[i];
        const size_t width = (size_t)plane->w * plane->nb_channels * sample_size;
        const uint8_t *src;
        uint8_t *dst;

        if (!width)
            continue;
        src = picture(plane->src, plane->src_pitch, width, plane->h, "src");
        dst = picture(plane->dst, plane->dst_pitch, width, plane->h, "dst");
        for (int y = 0; src && dst && src != dst && y < plane->h; y++)
            memcpy(dst + (size_t)y * plane->dst_pitch, src + (size_t)y * plane->src_pitch, width);
    }
}

/// The samples of luma make the sums of the first scale; the others have none.
static void fake_detail_split(const Operation *op, const void *data, int sample_size)
{
    const DetailCUDAParams *p = data;
    const size_t nb_planes = PAIR_NB * DETAIL_MAX_BATCH;
    DetailSums *sums = span(p->sums, op->grid[1] * sizeof(*sums), "sums");

    if (!sample_size)
        span(p->image, nb_planes * p->w * p->h * sizeof(float), "image");
    if (p->scale + 1 < DETAIL_SCALES)
        span(p->next, nb_planes * detail_half(p->w) * detail_half(p->h) * sizeof(float), "next");
    for (int i = 0; sums && sample_size && i < op->grid[1]; i++)
        for (int j = 0; j < PAIR_NB; j++) {
            const DetailCUDAPlane *plane = &p->pair[i].plane[j][0];

            sums[i].cube[0][0][j == PAIR_REFERENCE ? DETAIL_SOURCE : DETAIL_ADDED] +=
                sum_picture(plane->data, plane->pitch, (size_t)p->w * sample_size, p->h, "luma") & 0xffffff;
        }
}

static void fake_detail_cells(const Operation *op, const void *data, int sample_size)
{
    const DetailCUDAParams *p = data;
    DetailSums *sums = span(p->sums, op->grid[1] * sizeof(*sums), "sums");

    span(p->cells, 2 * PAIR_NB * DETAIL_MAX_BATCH * (size_t)p->picture.cells_x * p->picture.cells_y * sizeof(uint32_t), "cells");
    for (int i = 0; sums && i < op->grid[1]; i++) {
        const DetailCUDAPlane *previous = &p->pair[i].previous;

        for (int j = 0; j < PAIR_NB; j++)
            for (int c = 1; c < 3; c++) {
                const DetailCUDAPlane *plane = &p->pair[i].plane[j][c];
                const size_t width = (p->picture.cells_x * p->picture.cell_w - 1) * (size_t)p->step[c] + 1;

                sums[i].chroma += sum_picture(plane->data, plane->pitch, width * sample_size,
                                              p->picture.cells_y * p->picture.cell_h, "chroma") & 0xffffff;
            }
        if (previous->data)
            sums[i].motion += sum_picture(previous->data, previous->pitch, (size_t)p->picture.width * sample_size,
                                          p->picture.height, "previous") & 0xffff;
    }
}

static void fake_detail_finish(const Operation *op, const void *data, int sample_size)
{
    const DetailCUDAParams *p = data;
    DetailSums *sums = span(p->sums, op->grid[1] * sizeof(*sums), "sums");

    for (int i = 0; sums && i < op->grid[1]; i++) {
        DetailSums *result = span(p->pair[i].result, sizeof(*result), "result");

        if (result)
            *result = sums[i];
        sums[i] = (DetailSums){ 0 };
    }
}

/// X(kernel, what it takes, what stands in for it, bytes of a sample), of each
#define MAD_LINES(X, name)                                      \
    X(mad_ ## name,            MADCUDAParams, fake_mad, 0)      \
    X(mad_ ## name ## _chirp,  MADCUDAParams, fake_mad, 0)      \
    X(mad_ ## name ## _large,  MADCUDAParams, fake_mad_large, 0)
#define KERNELS(X)                                                      \
    X(bliinds_blocks_8,  BLIINDSCUDAParams, fake_bliinds_blocks, 1)     \
    X(bliinds_blocks_16, BLIINDSCUDAParams, fake_bliinds_blocks, 2)     \
    X(bliinds_pool,      BLIINDSCUDAParams, fake_bliinds_pool, 0)       \
    X(bliinds_choose,    BLIINDSCUDAParams, fake_bliinds_choose, 0)     \
    X(bliinds_bands_8,   BLIINDSCUDAParams, fake_bliinds_bands, 1)      \
    X(bliinds_bands_16,  BLIINDSCUDAParams, fake_bliinds_bands, 2)      \
    X(bliinds_bands_end, BLIINDSCUDAParams, fake_bliinds_bands_end, 0)  \
    X(blocksmooth_8,     BlockSmoothCUDAParams, fake_blocksmooth, 1)    \
    X(blocksmooth_16,    BlockSmoothCUDAParams, fake_blocksmooth, 2)    \
    X(detail_split_8,    DetailCUDAParams, fake_detail_split, 1)        \
    X(detail_split_16,   DetailCUDAParams, fake_detail_split, 2)        \
    X(detail_split,      DetailCUDAParams, fake_detail_split, 0)        \
    X(detail_cells_8,    DetailCUDAParams, fake_detail_cells, 1)        \
    X(detail_cells_16,   DetailCUDAParams, fake_detail_cells, 2)        \
    X(detail_finish,     DetailCUDAParams, fake_detail_finish, 0)       \
    X(mad_load_8,        MADCUDAParams, fake_mad_load, 1)               \
    X(mad_load_16,       MADCUDAParams, fake_mad_load, 2)               \
    X(mad_detect,        MADCUDAParams, fake_mad, 0)                    \
    MAD_LINES(X, plane_rows)                                            \
    MAD_LINES(X, plane_columns)                                         \
    MAD_LINES(X, lightness_rows)                                        \
    MAD_LINES(X, response_columns)                                      \
    MAD_LINES(X, response_rows)                                         \
    X(mad_compare,       MADCUDAParams, fake_mad, 0)                    \
    X(mad_pool,          MADCUDAParams, fake_mad_pool, 0)               \
    X(ssim_8,            SSIMCUDAParams, fake_ssim, 1)                  \
    X(ssim_16,           SSIMCUDAParams, fake_ssim, 2)

/// The kernel itself, compiled for the CPU, for on_cpu_launch().
#define COMPUTE(name, Params, fake, sample_size)                        \
    void name(Params p);                                                \
    static void compute_ ## name(const void *params)                    \
    {                                                                   \
        name(*(const Params *)params);                                  \
    }
KERNELS(COMPUTE)

#define ENTRY(name, Params, fake, sample_size)                          \
    { #name, sizeof(Params), fake, sample_size, compute_ ## name },
static const Kernel kernels[] = { KERNELS(ENTRY) };

// ---- queues ----

static unsigned sum_host(const CUDA_MEMCPY2D *c)
{
    unsigned sum = 0;

    for (size_t y = 0; y < c->Height; y++)
        for (size_t x = 0; x < c->WidthInBytes; x++)
            sum = sum * 31 + ((const uint8_t *)c->srcHost)[y * c->srcPitch + x];
    return sum;
}

/// Where device memory is, for kernels alone.
static void protect(int protection)
{
    for (int i = 0; i < nb_memory; i++)
        if (memory[i].alive)
            mprotect((void *)(uintptr_t)(memory[i].address & -PAGE),
                     page_size(memory[i].size), protection);
}

static void compute(const Operation *op)
{
    protect(PROT_READ | PROT_WRITE);
    on_cpu_launch(op->launched->kernel->compute, op->params, op->grid, op->block);
    protect(PROT_NONE);
}

/// A kernel goes beyond what is there, or the host takes a device's address for its own.
static void segmentation_fault(int number)
{
    static const char message[] = "stand-in for libcuda: no memory there, or it is the device's\n";

    _exit(write(2, message, sizeof(message) - 1) < 0 ? 1 : EXIT_STATUS);
}

static void run_copy(const Operation *op)
{
    const CUDA_MEMCPY2D *c = &op->copy;
    const size_t src_size = (c->Height - 1) * c->srcPitch + c->WidthInBytes;
    const size_t dst_size = (c->Height - 1) * c->dstPitch + c->WidthInBytes;
    const uint8_t *src = c->srcMemoryType == CU_MEMORYTYPE_HOST ? c->srcHost :
                         span(c->srcDevice, src_size, "source");
    uint8_t *dst = c->dstMemoryType == CU_MEMORYTYPE_HOST ? c->dstHost :
                   span(c->dstDevice, dst_size, "destination");

    if (op->staged)
        src = op->staged;
    else if (op->sum && op->sum != sum_host(c))
        error("the source has changed before it was copied");
    for (size_t y = 0; src && dst && y < c->Height; y++)
        memmove(dst + y * c->dstPitch, src + y * c->srcPitch, c->WidthInBytes);
}

static void run(Operation *op)
{
    void *data;

    function = op->function;
    switch (op->kind) {
    case COPY:
        run_copy(op);
        break;
    case SET:
        data = span(op->address, op->size, "destination");
        if (data)
            memset(data, op->value, op->size);
        break;
    case LAUNCH:
        if (op->launched->kernel) {
            function = op->launched->name;
            if (computes)
                compute(op);
            else
                op->launched->kernel->run(op, op->params, op->launched->kernel->sample_size);
        }
        break;
    case RECORD:
        if (op->event->record == op)
            op->event->record = NULL;
        break;
    }
}

/// Do what is enqueued in a stream, up to an operation or, without one, all.
static void drain(Object *stream, const Operation *until)
{
    const char *caller = function;
    int done = 0;

    while (stream->first && !done) {
        Operation *op = stream->first;

        stream->first = op->next;
        if (!stream->first)
            stream->last = &stream->first;
        done = op == until;
        run(op);
        free(op->staged);
        free(op->params);
        free(op);
    }
    function = caller;
}

static void drain_context(Object *context)
{
    for (Object *object = objects; object; object = object->next)
        if (object->kind == STREAM && object->alive && object->context == context)
            drain(object, NULL);
}

static Operation *enqueue(Object *stream, Operation op)
{
    Operation *new = allocate(sizeof(*new));

    op.function   = function;
    *new          = op;
    *stream->last = new;
    stream->last  = &new->next;
    return new;
}

// ---- devices and contexts ----

/**
 * A function of the driver, declared with the type by which FFmpeg calls it. What it does
 * begins with res, which is not 0 if the call is to fail, and may set it.
 */
#define DRIVER(name, needs_context, parameters, ...)                    \
    t ## name name;                                                     \
    __attribute__((visibility("default"))) CUresult name parameters     \
    {                                                                   \
        int res = enter(__func__, needs_context);                       \
        __VA_ARGS__                                                     \
        return leave(res);                                              \
    }

/// One that tells a number or a text, and cannot fail.
#define TELLS(name, type, value, parameters)                            \
    t ## name name;                                                     \
    __attribute__((visibility("default"))) CUresult name parameters     \
    {                                                                   \
        *value = type;                                                  \
        return CUDA_SUCCESS;                                            \
    }

TELLS(cuDriverGetVersion, 12000, version, (int *version))
TELLS(cuGetErrorName, "CUDA_ERROR_OF_THE_STAND_IN", text, (CUresult res, const char **text))
TELLS(cuGetErrorString,
      (int)res == OUT_OF_MEMORY ? "out of memory" : "the stand-in for the driver says so", text,
      (CUresult res, const char **text))

DRIVER(cuInit, 0, (unsigned flags), {
    initialized |= !res;
})

DRIVER(cuDeviceGet, 0, (CUdevice *device, int ordinal), {
    if (!res && (ordinal < 0 || ordinal >= nb_devices))
        res = INVALID_DEVICE;
    *device = ordinal;
})

DRIVER(cuDeviceGetAttribute, 0, (int *value, CUdevice_attribute attribute, CUdevice device), {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:        *value = 512;                break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:     *value = NB_MULTIPROCESSORS; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = major;              break;
    default:                                           *value = 0;
    }
})

static int push(Object *context)
{
    if (!pushed) {
        pushed       = allocate(sizeof(*pushed));
        pushed->next = all_pushed;
        all_pushed   = pushed;
    }
    if (pushed->nb == MAX_PUSHED)
        return refuse(INVALID_CONTEXT, "contexts are pushed and pushed");
    pushed->context[pushed->nb++] = context;
    return 0;
}

static Object *new_context(int device)
{
    Object *context = new_object(CONTEXT);

    context->device = device;
    context->default_stream = allocate(sizeof(Object));
    *context->default_stream = (Object){
        .kind = STREAM, .alive = 1, .context = context, .next = objects,
    };
    context->default_stream->last = &context->default_stream->first;
    objects = context->default_stream;
    return context;
}

/// A context takes all with it that is its own.
static void destroy_context(Object *context)
{
    drain_context(context);
    context->default_stream->alive = 0;
    for (int i = 0; i < nb_memory; i++)
        if (memory[i].alive && memory[i].context == context) {
            left("%zu bytes were not freed before the context", memory[i].size);
            free_memory(&memory[i]);
        }
    for (Object *object = objects; object; object = object->next)
        if (object->alive && object->context == context && object->kind != FUNCTION) {
            left("a %s was not destroyed before the context", kind_name[object->kind]);
            object->alive = 0;
        }
    context->alive = 0;
}

DRIVER(cuCtxCreate_v2, 0, (CUcontext *context, unsigned flags, CUdevice device), {
    if (!res) {
        Object *object = new_context(device);

        *context = (CUcontext)object;
        res = push(object);
    }
})

DRIVER(cuCtxDestroy_v2, 0, (CUcontext handle), {
    Object *context = find(handle, CONTEXT);

    if (context) {
        if (current() == context)
            pushed->nb--;
        destroy_context(context);
    }
})

DRIVER(cuCtxPushCurrent_v2, 0, (CUcontext handle), {
    if (!res) {
        Object *context = find(handle, CONTEXT);

        res = context ? push(context) : INVALID_CONTEXT;
    }
})

DRIVER(cuCtxPopCurrent_v2, 1, (CUcontext *handle), {
    if (current()) {
        *handle = (CUcontext)current();
        pushed->nb--;
    }
})

DRIVER(cuCtxGetDevice, 1, (CUdevice *device), {
    if (!res)
        *device = current()->device;
})

// ---- memory and copies ----

/// @name Not in CudaFunctions
/// @{
typedef CUresult tcuMemHostAlloc(void **ptr, size_t size, unsigned flags);
typedef CUresult tcuMemFreeHost(void *ptr);
typedef CUresult tcuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *ptr, unsigned flags);
typedef CUresult tcuFuncSetAttribute(CUfunction function, int attribute, int value);
/// @}

/// @return memory, or NULL with *res set
static const Memory *give_memory(int *res, size_t size, int pinned)
{
    const int i = *res ? -1 : new_memory(size, pinned);

    if (i < 0 && !*res)
        *res = size ? OUT_OF_MEMORY : INVALID_VALUE;
    return i < 0 ? NULL : &memory[i];
}

/// Waits for what is enqueued, as a driver does.
static void release_memory(Memory *m)
{
    if (!m || !m->alive) {
        error(m ? "it was freed before" : "there is no such memory");
        return;
    }
    drain_context(m->context);
    free_memory(m);
}

DRIVER(cuMemAlloc_v2, 1, (CUdeviceptr *address, size_t size), {
    const Memory *m = give_memory(&res, size, 0);

    if (m)
        *address = m->address;
})

DRIVER(cuMemFree_v2, 1, (CUdeviceptr address), {
    Memory *m = find_memory(address);

    if (m && (m->address != address || m->pinned))
        error("it is not what cuMemAlloc gave");
    else
        release_memory(m);
})

DRIVER(cuMemHostAlloc, 1, (void **ptr, size_t size, unsigned flags), {
    const Memory *m = give_memory(&res, size, 1);

    if (m)
        *ptr = m->data;
})

DRIVER(cuMemFreeHost, 1, (void *ptr), {
    release_memory(find_pinned(ptr));
})

DRIVER(cuMemHostGetDevicePointer_v2, 1, (CUdeviceptr *address, void *ptr, unsigned flags), {
    const Memory *m = res ? NULL : find_pinned(ptr);

    if (m)
        *address = m->address;
    else if (!res)
        res = refuse(INVALID_VALUE, "this memory is not pinned");
})

DRIVER(cuMemsetD8Async, 1, (CUdeviceptr address, unsigned char value, size_t size, CUstream handle), {
    Object *stream = res ? NULL : find_stream(handle);

    if (stream && span(address, size, "destination"))
        enqueue(stream, (Operation){ .kind = SET, .address = address, .size = size, .value = value });
    else if (!res)
        res = INVALID_VALUE;
})

static int is_pageable(CUmemorytype type, const void *ptr)
{
    return type == CU_MEMORYTYPE_HOST && !find_pinned(ptr);
}

/**
 * @param is_async 0 to be done when it returns
 * @param stage    1 to read the host's memory at once
 */
static int copy(CUDA_MEMCPY2D c, CUstream handle, int is_async, int stage)
{
    Object *stream = find_stream(handle);
    Operation op = { .kind = COPY, .copy = c };

    if (!stream)
        return INVALID_HANDLE;
    if (!c.WidthInBytes || !c.Height)
        return 0;
    if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY ||
        c.srcXInBytes || c.srcY || c.dstXInBytes || c.dstY)
        return refuse(NOT_SUPPORTED, "not kept by the stand-in");
    if (c.Height > 1 && (c.srcPitch < c.WidthInBytes || c.dstPitch < c.WidthInBytes))
        return refuse(INVALID_VALUE, "rows overlap");
    if (c.srcMemoryType == CU_MEMORYTYPE_DEVICE &&
        !span(c.srcDevice, (c.Height - 1) * c.srcPitch + c.WidthInBytes, "source") ||
        c.dstMemoryType == CU_MEMORYTYPE_DEVICE &&
        !span(c.dstDevice, (c.Height - 1) * c.dstPitch + c.WidthInBytes, "destination"))
        return INVALID_VALUE;
    if (is_async && is_pageable(c.srcMemoryType, c.srcHost)) {
        if (stage) {
            const size_t size = (c.Height - 1) * c.srcPitch + c.WidthInBytes;

            op.staged = memcpy(allocate(size), c.srcHost, size);
        } else
            op.sum = sum_host(&c);
    }
    enqueue(stream, op);
    if (!is_async)
        drain(stream, NULL);
    return 0;
}

/// One row; names are those of the fields of dst and src.
#define COPIES(name, parameters, dst_type, dst_field, src_type, src_field, stream, is_async)   \
    DRIVER(name, 1, parameters, {                                                               \
        const CUDA_MEMCPY2D c = {                                                               \
            .dstMemoryType = CU_MEMORYTYPE_ ## dst_type, .dst_field = dst, .dstPitch = size,    \
            .srcMemoryType = CU_MEMORYTYPE_ ## src_type, .src_field = src, .srcPitch = size,    \
            .WidthInBytes  = size, .Height = 1,                                                 \
        };                                                                                      \
                                                                                                \
        res = res ? res : copy(c, stream, is_async, 0);                                         \
    })

COPIES(cuMemcpyHtoD_v2,      (CUdeviceptr dst, const void *src, size_t size),
       DEVICE, dstDevice, HOST, srcHost, NULL, 0)
COPIES(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream),
       DEVICE, dstDevice, HOST, srcHost, stream, 1)
COPIES(cuMemcpyDtoH_v2,      (void *dst, CUdeviceptr src, size_t size),
       HOST, dstHost, DEVICE, srcDevice, NULL, 0)

/// FFmpeg's uploads rely on the driver, which reads pageable memory at once.
DRIVER(cuMemcpy2DAsync_v2, 1, (const CUDA_MEMCPY2D *c, CUstream stream), {
    res = res ? res : copy(*c, stream, 1, 1);
})

// ---- streams and events ----

DRIVER(cuStreamCreate, 1, (CUstream *handle, unsigned flags), {
    if (!res) {
        Object *stream = new_object(STREAM);

        stream->own_queue = flags & 1;
        *handle = (CUstream)stream;
    }
})

DRIVER(cuStreamDestroy_v2, 1, (CUstream handle), {
    Object *stream = find(handle, STREAM);

    if (stream) {
        drain(stream, NULL);
        stream->alive = 0;
    }
})

DRIVER(cuStreamSynchronize, 1, (CUstream handle), {
    Object *stream = current() ? find_stream(handle) : NULL;

    if (stream)
        drain(stream, NULL);
})

DRIVER(cuEventCreate, 1, (CUevent *handle, unsigned flags), {
    if (!res)
        *handle = (CUevent)new_object(EVENT);
})

DRIVER(cuEventDestroy_v2, 1, (CUevent handle), {
    Object *event = find(handle, EVENT);

    if (event)
        event->alive = 0;
})

DRIVER(cuEventRecord, 1, (CUevent handle, CUstream stream), {
    Object *event = res ? NULL : find(handle, EVENT);
    Object *queue = res ? NULL : find_stream(stream);

    if (event && queue) {
        event->record = enqueue(queue, (Operation){ .kind = RECORD, .event = event });
        event->record_stream = queue;
        event->nb_queries = nb_records++ * 7919LL % (max_delay + 1);
    } else if (!res)
        res = INVALID_HANDLE;
})

/// @return res, or an error if there is no such event
static int wait_for_event(int res, Object *event)
{
    if (!event)
        return INVALID_HANDLE;
    if (event->record)
        drain(event->record_stream, event->record);
    return res;
}

DRIVER(cuEventQuery, 1, (CUevent handle), {
    Object *event = find(handle, EVENT);

    if (event && !res && event->record && event->nb_queries) {
        event->nb_queries--;
        res = CUDA_ERROR_NOT_READY;
    } else
        res = wait_for_event(res, event);
})

DRIVER(cuEventSynchronize, 1, (CUevent handle), {
    res = wait_for_event(res, find(handle, EVENT));
})

// ---- modules and launches ----

DRIVER(cuModuleLoadData, 1, (CUmodule *handle, const void *image), {
    if (!res && strstr(image, ".version")) {
        Object *module = new_object(MODULE);

        module->ptx = strdup(image);
        *handle = (CUmodule)module;
    } else if (!res)
        res = refuse(INVALID_PTX, "this is no PTX");
})

DRIVER(cuModuleUnload, 1, (CUmodule handle), {
    Object *module = find(handle, MODULE);

    if (module) {
        drain_context(module->context);
        free(module->ptx);
        for (Object *object = objects; object; object = object->next)
            if (object->kind == FUNCTION && object->module == module)
                object->alive = 0;
        module->alive = 0;
    }
})

/// What PTX says of a function: the size of its only parameter, and the threads that it may have.
static Object *new_function(const Object *module, const char *name)
{
    char text[128];
    Object *new;
    const char *entry, *body;

    snprintf(text, sizeof(text), ".entry %s(", name);
    entry = strstr(module->ptx, text);
    if (!entry)
        return NULL;
    body = strchr(entry, '{');
    new  = new_object(FUNCTION);
    new->module = module;
    new->name   = strdup(name);
    new->max_threads = 1024;
    new->max_shared  = PLAIN_SHARED_SIZE;
    snprintf(text, sizeof(text), "%s_param_0[", name);
    entry = strstr(entry, text);
    if (entry && entry < body)
        new->params_size = atoi(entry + strlen(text));
    if (entry && (entry = strstr(entry, ".maxntid")) && entry < body)
        sscanf(entry, ".maxntid %u", &new->max_threads);
    for (int i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
        if (!strcmp(kernels[i].name, name))
            new->kernel = &kernels[i];
    if (new->kernel && new->kernel->params_size != new->params_size)
        error("%s takes %zu bytes, not %zu", name, new->params_size, new->kernel->params_size);
    return new;
}

DRIVER(cuModuleGetFunction, 1, (CUfunction *handle, CUmodule module_handle, const char *name), {
    const Object *module = res ? NULL : find(module_handle, MODULE);
    Object *new = module ? new_function(module, name) : NULL;

    if (new)
        *handle = (CUfunction)new;
    else if (!res)
        res = module ? NOT_FOUND : INVALID_HANDLE;
})

DRIVER(cuFuncSetAttribute, 1, (CUfunction handle, int attribute, int value), {
    Object *launched = res ? NULL : find(handle, FUNCTION);

    if (launched && attribute == 8 && value <= MOST_SHARED_SIZE)
        launched->max_shared = value;
    else if (!res)
        res = launched ? INVALID_VALUE : INVALID_HANDLE;
})

static int launch(CUfunction handle, const unsigned grid[3], const unsigned block[3],
                  unsigned shared, CUstream stream_handle, void **args)
{
    Object *launched = find(handle, FUNCTION), *stream = find_stream(stream_handle);
    const size_t threads = (size_t)block[0] * block[1] * block[2];
    Operation op = {
        .kind = LAUNCH, .launched = launched, .grid = { grid[0], grid[1], grid[2] },
        .block = { block[0], block[1], block[2] },
    };

    if (!launched || !stream)
        return INVALID_HANDLE;
    if (!grid[0] || !grid[1] || !grid[2] || grid[1] > 65535 || grid[2] > 65535 || !threads ||
        threads > launched->max_threads || shared > launched->max_shared) {
        error("%s: %u x %u x %u thread blocks of %zu threads, of %u at most, and %u bytes, of %zu",
              launched->name, grid[0], grid[1], grid[2], threads, launched->max_threads,
              shared, launched->max_shared);
        return INVALID_VALUE;
    }
    if (launched->kernel)
        op.params = memcpy(allocate(launched->params_size), args[0], launched->params_size);
    enqueue(stream, op);
    return 0;
}

DRIVER(cuLaunchKernel, 1, (CUfunction launched, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                           CUstream stream, void **args, void **extra), {
    res = res ? res : launch(launched, (unsigned[]){ grid_x, grid_y, grid_z },
                             (unsigned[]){ block_x, block_y, block_z }, shared, stream, args);
})

// ---- what FFmpeg asks for and our tests do not use ----

#define UNUSED(name)                                                    \
    __attribute__((visibility("default"))) CUresult name(void);         \
    __attribute__((visibility("default"))) CUresult name(void)          \
    {                                                                   \
        enter(__func__, 0);                                             \
        return leave(refuse(NOT_SUPPORTED, "not kept by the stand-in")); \
    }

UNUSED(cuArray3DCreate_v2) UNUSED(cuArrayCreate_v2) UNUSED(cuArrayDestroy)
UNUSED(cuCtxGetCurrent) UNUSED(cuCtxSetLimit) UNUSED(cuDeviceComputeCapability)
UNUSED(cuDeviceGetCount) UNUSED(cuDeviceGetName) UNUSED(cuDevicePrimaryCtxGetState)
UNUSED(cuDevicePrimaryCtxRelease) UNUSED(cuDevicePrimaryCtxReset)
UNUSED(cuDevicePrimaryCtxRetain) UNUSED(cuDevicePrimaryCtxSetFlags) UNUSED(cuGLGetDevices_v2)
UNUSED(cuGraphicsGLRegisterImage) UNUSED(cuGraphicsMapResources)
UNUSED(cuGraphicsResourceGetMappedPointer_v2) UNUSED(cuGraphicsSubResourceGetMappedArray)
UNUSED(cuGraphicsUnmapResources) UNUSED(cuGraphicsUnregisterResource) UNUSED(cuLinkAddData)
UNUSED(cuLinkComplete) UNUSED(cuLinkCreate) UNUSED(cuLinkDestroy) UNUSED(cuMemAllocManaged)
UNUSED(cuMemAllocPitch_v2) UNUSED(cuMemcpy) UNUSED(cuMemcpy2D_v2) UNUSED(cuMemcpyAsync)
UNUSED(cuMemcpyDtoDAsync_v2) UNUSED(cuMemcpyDtoD_v2) UNUSED(cuMemcpyDtoHAsync_v2)
UNUSED(cuModuleGetGlobal) UNUSED(cuStreamAddCallback) UNUSED(cuStreamQuery)
UNUSED(cuStreamWaitEvent) UNUSED(cuTexObjectCreate) UNUSED(cuTexObjectDestroy)

// ---- begin and end ----

/// The calls of the driver are counted from now on; the one with number at fails, none if that is 0.
__attribute__((visibility("default"))) void stand_in_fail(int at, int and_more);
void stand_in_fail(int at, int and_more)
{
    pthread_mutex_lock(&mutex);
    nb_calls = 0;
    fail_at  = at;
    broken   = and_more;
    pthread_mutex_unlock(&mutex);
}

static void read_options(void)
{
    static const struct { const char *name; int *value; } numbers[] = {
        { "fail",  &fail_at   }, { "code",    &fail_code  }, { "broken", &broken },
        { "delay", &max_delay }, { "devices", &nb_devices }, { "major",  &major  },
        { "computes", &computes },
    };
    const int nb = sizeof(numbers) / sizeof(*numbers);
    const char *given = getenv("CUDA_STAND_IN");
    char *options = strdup(given ? given : ""), *rest = NULL;

    report = stderr;
    for (char *name = strtok_r(options, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(name, '=');
        int i = 0;

        if (value)
            *value++ = 0;
        while (i < nb && strcmp(name, numbers[i].name))
            i++;
        if (value && i < nb)
            *numbers[i].value = atoi(value);
        else if (value && !strcmp(name, "report"))
            report = fopen(value, "w");
        else {
            fprintf(stderr, "CUDA_STAND_IN: %s is no option, or has no value\n", name);
            _exit(EXIT_STATUS);
        }
    }
    free(options);
    if (!report || nb_devices > MAX_DEVICES) {
        fprintf(stderr, "CUDA_STAND_IN: the report cannot be written, or there are too many devices\n");
        _exit(EXIT_STATUS);
    }
}

__attribute__((constructor)) static void begin(void)
{
    size_t size = 128ULL << 30;
    void *addresses;

    read_options();
    // valgrind has less room
    do {
        size /= 2;
        addresses = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    } while (addresses == MAP_FAILED && size > 1 << 30);
    if (addresses == MAP_FAILED)
        abort();
    next_address = (CUdeviceptr)(uintptr_t)addresses;
    end_address  = next_address + size;
    if (computes && signal(SIGSEGV, segmentation_fault) == SIG_ERR)
        abort();
}

__attribute__((destructor)) static void end(void)
{
    for (int i = 0; i < nb_memory; i++)
        if (memory[i].alive)
            left("%zu bytes were not freed", memory[i].size);
    for (const Object *object = objects; object; object = object->next)
        if (object->alive && object->kind != FUNCTION &&
            (!object->context || object->context->default_stream != object))
            left("a %s was not destroyed", kind_name[object->kind]);
    for (const Pushed *p = all_pushed; p; p = p->next)
        if (p->nb)
            error("%d contexts were pushed and not popped", p->nb);
    fprintf(report, "calls %d\n", nb_calls);
    fflush(report);
    if (nb_errors) {
        fprintf(stderr, "stand-in for libcuda: %d errors\n", nb_errors);
        _exit(EXIT_STATUS);
    }
}
