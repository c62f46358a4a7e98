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
 * Each allocation, or each call of the CUDA driver, that a filter makes fails in turn
 *
 *   filter_faults alloc|driver[+] SIZE FORMAT FILTER [FILE...]
 *   filter_faults other SIZE FORMAT FILTER
 *
 * The filter gets frames of the size, until the end of the stream, in a process of its
 * own for each fault. It has to end with an error, or with the frames, metadata and
 * FILEs of a run without faults; it must not crash, hang, or leave anything behind. With
 * "+", all that comes after the first fault fails, too. With "other" nothing fails, but the last
 * frames are not of the size and format of the link: what the filter says is printed.
 *
 * Allocations are those that go through the functions below, which the linker puts in
 * the place of the C library's; the driver's are those of libcuda.c, which
 * LD_LIBRARY_PATH has to lead to.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavfilter/tests/filter_graph.h"

#define NB_FRAMES    6
#define TIMEOUT      20
#define MAX_PROBLEMS 20

#define MANY_FAULTS   700       ///< that are tried one by one
#define FAULT_STEP    13        ///< from one to the next behind them
#define AND_MORE_STEP 5         ///< where all behind one fail, too

// ---- allocations that fail ----

static int nb_allocs, nb_left, fail_at, fail_on;
static char *failed_name;

/// @return 1 if this one is to fail
static int failed(void)
{
    nb_allocs++;
    if (!fail_at || nb_allocs < fail_at || nb_allocs > fail_at && !fail_on)
        return 0;
    strcpy(failed_name, "an allocation");
    errno = ENOMEM;
    return 1;
}

static void *counted(void *ptr)
{
    nb_left += !!ptr;
    return ptr;
}

/// The C library's function, and what is called in its place.
#define WRAP(type, name, parameters)        \
    type __real_ ## name parameters;        \
    type __wrap_ ## name parameters;        \
    type __wrap_ ## name parameters

WRAP(void *, calloc, (size_t nb, size_t size))
{
    return failed() ? NULL : counted(__real_calloc(nb, size));
}

WRAP(void *, realloc, (void *ptr, size_t size))
{
    void *new = failed() ? NULL : __real_realloc(ptr, size);

    return ptr ? new : counted(new);
}

WRAP(int, posix_memalign, (void **ptr, size_t align, size_t size))
{
    int ret = failed() ? ENOMEM : __real_posix_memalign(ptr, align, size);

    nb_left += !ret;
    return ret;
}

WRAP(void, free, (void *ptr))
{
    nb_left -= !!ptr;
    __real_free(ptr);
}

WRAP(FILE *, fdopen, (int fd, const char *mode))
{
    return failed() ? NULL : counted(__real_fdopen(fd, mode));
}

WRAP(int, fclose, (FILE *file))
{
    nb_left--;
    return __real_fclose(file);
}

// ---- a run of the filter ----

typedef struct Run {
    const char *filter;
    TestPicture pic;
    int in_driver;                  ///< where faults are
    int has_others;                 ///< the last half of the frames is not as the link
    int fault, and_more;            ///< number of the first one, 0 for none
    AVFrame *input[NB_FRAMES][TEST_MAX_SOURCES];

    TestGraph graph;
    int nb_received;
    int error;                      ///< the first one
    int has_ended_early;            ///< with an error, or with a message of one
    const char *problem;
    char failed[64];                ///< what was made to fail
    uint32_t sum;                   ///< of all that came out
} Run;

static int nb_messages, are_printed;

static void count_messages(void *ctx, int level, const char *format, va_list args)
{
    nb_messages += level <= AV_LOG_ERROR;
    if (level <= AV_LOG_ERROR && are_printed)
        vprintf(format, args);
}

/// Let the allocation, or the driver's call, with this number from now on fail; 0 for none.
static void set_faults(Run *r, int fault)
{
    nb_allocs   = 0;
    fail_at     = r->in_driver ? 0 : fault;
    fail_on     = r->and_more;
    failed_name = r->failed;
    if (r->in_driver) {
        void *library = dlopen("libcuda.so.1", RTLD_LAZY);
        void (*set)(int at, int and_more, char failed[64]) = dlsym(library, "stand_in_fail");

        set(fault, r->and_more, r->failed);
    }
}

/// What the filter has added, and the samples of a frame of the CPU; of the GPU's, if they came so.
static int take(void *opaque, const AVFrame *frame)
{
    static char buffer[1 << 14];
    Run *r = opaque;
    AVBPrint text;

    if (frame->pts != r->nb_received++ && !r->error)
        r->problem = "has lost frames or their order";
    av_bprint_init_for_buffer(&text, buffer, sizeof(buffer));
    test_describe(&text, frame);
    if (!frame->hw_frames_ctx)
        r->sum = test_checksum(r->sum, frame);
    else
        av_bprintf(&text, "%d", frame->data[0] == r->input[frame->pts][0]->data[0]);
    r->sum = av_adler32_update(r->sum, buffer, text.len);
    return 0;
}

/**
 * Give the filter all frames, as a host does that goes on after an error.
 *
 * @return whether FFmpeg could make the filter
 */
static int filter_frames(Run *r)
{
    // where a filter has no activate(), FFmpeg aborts at a second error that differs
    const int goes_on = !strstr(r->filter, "blocksmooth");
    AVFilterGraphSegment *segment;
    int is_created, ret;

    // faults begin here, as FFmpeg forgets options for which it has no memory when it parses them
    av_assert0(test_graph_parse(&r->graph, &segment, r->filter, 1) >= 0);
    set_faults(r, r->fault);
    ret = test_graph_apply(&r->graph, segment, r->input[0]);
    is_created = r->graph.graph->nb_filters > 0;
    r->error   = FFMIN(ret, 0);
    for (int n = 0; n <= NB_FRAMES && ret >= 0 && (goes_on || !r->error); n++) {
        const int err = test_graph_send(&r->graph, n < NB_FRAMES ? r->input[n] : NULL,
                                        AV_BUFFERSRC_FLAG_KEEP_REF, r, take);

        r->error = r->error ? r->error : FFMIN(err, 0);
    }
    avfilter_graph_free(&r->graph.graph);
    set_faults(r, 0);
    return is_created;
}

/// One run, in a process of its own.
static av_noreturn void run_filter(Run *r)
{
    const TestPicture link = { .format = AV_PIX_FMT_NV12, .width = 72, .height = 64 };
    const int before = nb_left;
    AVBufferRef *device = NULL, *frames = NULL;
    int is_created;

    alarm(TIMEOUT);
    if (strstr(r->filter, "_cuda"))
        av_assert0(av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0) >= 0);
    for (int n = 0; n < NB_FRAMES; n++)
        for (int i = 0; i < TEST_MAX_SOURCES; i++) {
            const TestPicture *pic = r->has_others && n < NB_FRAMES / 2 ? &link : &r->pic;

            frames = device ? test_open_frames(device, pic) : NULL;
            r->input[n][i] = test_frame(frames, pic, i, n);
            av_buffer_unref(&frames);
        }
    av_buffer_unref(&device);
    is_created = filter_frames(r);
    for (int n = 0; n < NB_FRAMES; n++)
        for (int i = 0; i < TEST_MAX_SOURCES; i++)
            av_frame_free(&r->input[n][i]);
    if (!r->error && r->nb_received != NB_FRAMES)
        r->problem = "has lost frames";
    // FFmpeg drops the defaults of options when it cannot create a filter
    if (nb_left != before && is_created)
        r->problem = "has left memory or a file open";
    if (r->error && r->in_driver && !nb_messages)
        r->problem = "has ended with an error that it did not tell";
    // what goes wrong in uninit() is said, but not returned
    r->has_ended_early = r->error || nb_messages;
    exit(0);
}

// ---- all runs ----

/// Add a file of the filter's to a sum, without how fast the filter was.
static uint32_t sum_file(const char *path, uint32_t sum)
{
    static char line[1 << 16];
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof(line), file))
        if (!strstr(line, "fps"))
            sum = av_adler32_update(sum, (const uint8_t *)line, strlen(line));
    if (file)
        fclose(file);
    return sum + !file;
}

/// What may fail and nothing be wrong.
static int may_fail(const char *name)
{
    static const char *const names[] = {
        // of some, FFmpeg or the filter can do without; transforms are done in another way then
        "an allocation", "cuFuncSetAttribute",
        // what is given back is gone, whatever the driver says
        "cuCtxPopCurrent_v2", "cuCtxDestroy_v2", "cuEventDestroy_v2", "cuMemFree_v2",
        "cuMemFreeHost", "cuModuleUnload", "cuStreamDestroy_v2", "cuStreamSynchronize",
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(names); i++)
        if (!strcmp(name, names[i]))
            return 1;
    return 0;
}

/// What there is to say against a run with this status; NULL for nothing.
static const char *find_problem(const Run *run, int status, uint32_t expected)
{
    if (!WIFEXITED(status))
        return WTERMSIG(status) == SIGALRM ? "hangs" : "has crashed";
    if (WEXITSTATUS(status))
        return "has called the driver in a wrong way, or left something there";
    if (run->problem)
        return run->problem;
    if (run->has_ended_early)
        return run->failed[0] ? NULL : "has ended with an error without a fault";
    if (run->failed[0] && !may_fail(run->failed))
        return "has not noticed";
    return run->sum != expected ? "has another result" : NULL;
}

/// One run in a process of its own. @return its status, less than 0 if there is none
static int run_process(Run *run, char **files)
{
    int status;
    pid_t pid;

    for (int i = 0; files[i]; i++)
        remove(files[i]);
    fflush(NULL);
    pid = fork();
    if (!pid)
        run_filter(run);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    for (int i = 0; files[i]; i++)
        run->sum = sum_file(files[i], run->sum);
    return status;
}

int main(int argc, char **argv)
{
    Run *run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int nb_wrong = 0, nb_failed = 0, more = 1;
    uint32_t expected = 0;

    if (run == MAP_FAILED || argc < 5 ||
        sscanf(argv[2], "%dx%d", &run->pic.width, &run->pic.height) != 2)
        return 2;
    run->in_driver  = strncmp(argv[1], "alloc", 5);
    run->has_others = are_printed = !strcmp(argv[1], "other");
    run->and_more   = !!strchr(argv[1], '+');
    run->pic.format = av_get_pix_fmt(argv[3]);
    run->filter     = argv[4];
    av_log_set_callback(count_messages);
    if (run->has_others) {
        const int status = run_process(run, argv + 5);

        return status || run->problem || !run->has_ended_early;
    }

    // frames repeat each other's: of many, not all are tried
    for (; more && nb_wrong < MAX_PROBLEMS; run->fault += run->and_more ? AND_MORE_STEP :
                                            run->fault < MANY_FAULTS ? 1 : FAULT_STEP) {
        const Run before = *run;
        const int status = run_process(run, argv + 5);
        const char *problem;

        if (status < 0)
            return 2;
        more       = !run->fault || run->failed[0];
        nb_failed += !!run->failed[0];
        if (!run->fault)
            expected = run->sum;
        problem = find_problem(run, status, expected);
        if (problem) {
            printf("%s fails, %d: the filter %s\n", run->failed, run->fault, problem);
            nb_wrong++;
        }
        *run = before;
    }
    fprintf(stderr, "%d faults, %d went wrong\n", nb_failed, nb_wrong);
    return nb_wrong || !nb_failed;
}
