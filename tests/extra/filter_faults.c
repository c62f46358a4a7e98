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

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libavutil/dict.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/pixdesc.h"
#include "libavutil/tx.h"
#include "libavfilter/tests/filter_graph.h"

#define NB_FRAMES    6
#define TIMEOUT      20
#define MAX_PROBLEMS 20
#define REPORT       "faults.report"

/// @name Faults that are tried one by one, the step behind them, and where all behind one fail, too
/// @{
#define MANY_FAULTS   700
#define FAULT_STEP    13
#define AND_MORE_STEP 5
/// @}

// ---- allocations that fail ----

static int nb_allocs, nb_left, fail_at, fail_on;
static int in_tx;                   ///< depth of av_tx_init()

/// @return 1 if this one is to fail
static int failed(void)
{
    if (in_tx)
        return 0;
    nb_allocs++;
    if (!fail_at || nb_allocs < fail_at || nb_allocs > fail_at && !fail_on)
        return 0;
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

WRAP(void *, malloc, (size_t size))
{
    return failed() ? NULL : counted(__real_malloc(size));
}

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

/// It fails as a whole: FFmpeg leaves memory when it fails half-way, but for powers of two.
WRAP(int, av_tx_init, (AVTXContext **ctx, av_tx_fn *tx, enum AVTXType type, int inv, int len,
                       const void *scale, uint64_t flags))
{
    int ret;

    if (failed())
        return AVERROR(ENOMEM);
    in_tx++;
    ret = __real_av_tx_init(ctx, tx, type, inv, len, scale, flags);
    in_tx--;
    return ret;
}

/// Let the allocation, or the driver's call, with this number from now on fail; 0 for none.
static void set_faults(int in_driver, int fault, int and_more)
{
    nb_allocs = 0;
    fail_at   = in_driver ? 0 : fault;
    fail_on   = and_more;
    if (in_driver) {
        void *library = dlopen("libcuda.so.1", RTLD_LAZY);
        void (*set)(int at, int and_more) = dlsym(library, "stand_in_fail");

        set(fault, and_more);
    }
}

// ---- a run of the filter ----

typedef struct Run {
    const char *filter;
    enum AVPixelFormat format;
    int width, height;
    int in_driver;                  ///< where faults are
    int has_others;                 ///< the last half of the frames is not as the link
    int fault, and_more;            ///< number of the first one, 0 for none
    AVBufferRef *frames;            ///< NULL for frames of the CPU
    AVFrame *input[TEST_MAX_SOURCES][NB_FRAMES];

    TestGraph graph;
    int nb_creating;                ///< allocations that FFmpeg makes to create the filter
    int nb_received;
    uint32_t sum;                   ///< of all that came out
    int error;                      ///< the first one
} Run;

/// What a run tells.
enum {
    FINISHED, ENDED_WITH_ERROR, SETUP_FAILED, LEFT_MEMORY, NO_MESSAGE, WRONG_ORDER
};
static const char *const outcomes[] = {
    [SETUP_FAILED] = "could not begin",
    [LEFT_MEMORY]  = "has left memory or a file open",
    [NO_MESSAGE]   = "has ended with an error that it did not tell",
    [WRONG_ORDER]  = "has lost frames or their order",
};

static int nb_messages, are_printed;

static void count_messages(void *ctx, int level, const char *format, va_list args)
{
    nb_messages += level <= AV_LOG_ERROR;
    if (level <= AV_LOG_ERROR && are_printed)
        vprintf(format, args);
}

/// A frame of the CPU that is another one for each number, and each input.
static AVFrame *draw(const Run *r, int input, int n)
{
    const int is_deep = av_pix_fmt_desc_get(r->format)->comp[0].depth > 8;
    AVFrame *frame = test_new_frame(r->format, r->width, r->height, 0, 0, 0);
    unsigned seed = 2 * n + input;

    if (!frame)
        exit(SETUP_FAILED);
    frame->pts = n;
    for (int i = 0; i < FF_ARRAY_ELEMS(frame->buf) && frame->buf[i]; i++)
        for (size_t j = 0; j < frame->buf[i]->size; j++) {
            seed = seed * 1664525 + 1013904223;
            // samples of 10 bits have nothing in the high bits of their second byte
            frame->buf[i]->data[j] = is_deep && j & 1 ? seed >> 30 :
                                     (j * (n + 3) >> 4) % 128 + (seed >> 28);
        }
    return frame;
}

/// The frames that the filter is to get.
static void make_frames(Run *r)
{
    AVBufferRef *device = NULL;

    if (strstr(r->filter, "_cuda") &&
        (av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0) < 0 ||
         test_open_frames(&r->frames, device, r->format, r->width, r->height) < 0))
        exit(SETUP_FAILED);
    av_buffer_unref(&device);
    for (int i = 0; i < TEST_MAX_SOURCES; i++)
        for (int n = 0; n < NB_FRAMES; n++) {
            AVFrame *picture = draw(r, i, n);

            r->input[i][n] = r->frames ? test_upload(r->frames, picture) : av_frame_clone(picture);
            av_frame_free(&picture);
            if (!r->input[i][n])
                exit(SETUP_FAILED);
        }
}

/// In the place of the last half of the frames, some that are not as the link.
static void make_others(Run *r)
{
    Run link = { .filter = r->filter, .format = AV_PIX_FMT_NV12, .width = 72, .height = 64 };

    make_frames(&link);
    for (int i = 0; i < TEST_MAX_SOURCES; i++)
        for (int n = 0; n < NB_FRAMES; n++) {
            if (n < NB_FRAMES / 2)
                FFSWAP(AVFrame *, r->input[i][n], link.input[i][n]);
            av_frame_free(&link.input[i][n]);
        }
    av_buffer_unref(&link.frames);
}

static int open_graph(Run *r)
{
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    AVFilterGraphSegment *segment = NULL;
    int ret;

    r->graph.graph = avfilter_graph_alloc();
    if (!r->graph.graph)
        return AVERROR(ENOMEM);
    r->graph.graph->nb_threads = 1;
    ret = avfilter_graph_segment_parse(r->graph.graph, r->filter, 0, &segment);
    // from here on, as FFmpeg forgets options for which it has no memory when it parses them
    set_faults(r->in_driver, r->fault, r->and_more);
    if (ret >= 0)
        ret = avfilter_graph_segment_create_filters(segment, 0);
    r->nb_creating = nb_allocs;
    if (ret >= 0)
        ret = avfilter_graph_segment_apply(segment, 0, &inputs, &outputs);
    if (ret >= 0)
        ret = test_graph_link(&r->graph, inputs, outputs,
                              (AVFrame *[]){ r->input[0][0], r->input[1][0] });
    avfilter_graph_segment_free(&segment);
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    return ret;
}

static void add_to_sum(Run *r, const void *data, size_t size)
{
    r->sum = av_adler32_update(r->sum, data, size);
}

/// Metadata and the samples of a frame of the CPU; of one of the GPU, which of the input it is.
static int take(void *opaque, const AVFrame *frame)
{
    Run *r = opaque;
    const AVDictionaryEntry *entry = NULL;

    if (frame->pts != r->nb_received++ && !r->error)
        exit(WRONG_ORDER);
    while ((entry = av_dict_iterate(frame->metadata, entry))) {
        add_to_sum(r, entry->key, strlen(entry->key));
        add_to_sum(r, entry->value, strlen(entry->value));
    }
    if (!r->frames)
        r->sum = test_checksum(r->sum, frame);
    else for (int i = 0; i < NB_FRAMES; i++)
        if (r->input[0][i]->data[0] == frame->data[0])
            add_to_sum(r, &i, sizeof(i));
    return 0;
}

/// Give the filter all frames, as a host does that goes on after an error.
static int filter_frames(Run *r)
{
    // where a filter has no activate(), FFmpeg aborts at a second error that differs
    const int goes_on = !strstr(r->filter, "blocksmooth");
    int ret = open_graph(r);

    for (int n = 0; n <= NB_FRAMES && ret >= 0 && (goes_on || !r->error); n++) {
        int errors[TEST_MAX_SOURCES + 1] = { 0 };

        for (int i = 0; i < r->graph.nb_sources; i++)
            errors[i] = av_buffersrc_add_frame_flags(r->graph.source[i],
                                                     n < NB_FRAMES ? r->input[i][n] : NULL,
                                                     AV_BUFFERSRC_FLAG_KEEP_REF);
        errors[TEST_MAX_SOURCES] = test_graph_receive(&r->graph, r, take);
        for (int i = 0; i <= TEST_MAX_SOURCES && !r->error; i++)
            r->error = FFMIN(errors[i], 0);
    }
    avfilter_graph_free(&r->graph.graph);
    return FFMIN(ret, r->error);
}

/// One run, in a process of its own; its exit status is the outcome.
static av_noreturn void run_filter(Run *r, int result)
{
    const int before = nb_left;
    int ret, told[2];

    alarm(TIMEOUT);
    make_frames(r);
    if (r->has_others)
        make_others(r);
    ret     = filter_frames(r);
    told[0] = nb_allocs;
    told[1] = r->sum;
    set_faults(r->in_driver, 0, 0);
    for (int i = 0; i < TEST_MAX_SOURCES; i++)
        for (int n = 0; n < NB_FRAMES; n++)
            av_frame_free(&r->input[i][n]);
    av_buffer_unref(&r->frames);
    if (write(result, told, sizeof(told)) != sizeof(told))
        exit(SETUP_FAILED);
    if (ret >= 0 && r->nb_received != NB_FRAMES)
        exit(WRONG_ORDER);
    // FFmpeg drops the defaults of options when it cannot create a filter
    if (nb_left != before && (r->in_driver || r->fault > r->nb_creating))
        exit(LEFT_MEMORY);
    if (ret < 0 && r->in_driver && !nb_messages)
        exit(NO_MESSAGE);
    // what goes wrong in uninit() is said, but not returned
    exit(ret < 0 || nb_messages ? ENDED_WITH_ERROR : FINISHED);
}

// ---- all runs ----

/// What the stand-in for the driver has told.
typedef struct Report {
    char failed[64];                ///< the first call that was made to fail
    int wrong, left;                ///< calls, and things that were not given back
} Report;

/// Read the report, or a file of the filter's into a sum, without how fast the filter was.
static uint32_t read_file(const char *path, Report *report, uint32_t sum)
{
    static char line[1 << 16];
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (report) {
            sscanf(line, "failed %63s", report->failed);
            report->wrong += !strncmp(line, "error", 5);
            report->left  += !strncmp(line, "left",  4);
        } else if (!strstr(line, "fps"))
            sum = av_adler32_update(sum, (const uint8_t *)line, strlen(line));
    }
    if (file)
        fclose(file);
    return sum + !file;
}

/// Calls that may fail and nothing be wrong.
static int may_fail(const char *name)
{
    static const char *const names[] = {
        // results are copied then
        "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2",
        // transforms are done in another way then
        "cuFuncSetAttribute",
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
static const char *find_problem(const Run *run, int status, const Report *report,
                                int has_failed, int is_same)
{
    const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    if (outcome < 0)
        return WTERMSIG(status) == SIGALRM ? "hangs" : "has crashed";
    if (outcome == ENDED_WITH_ERROR && !has_failed)
        return "has ended with an error without a fault";
    if (outcome > ENDED_WITH_ERROR && outcome < FF_ARRAY_ELEMS(outcomes))
        return outcomes[outcome];
    if (report->wrong)
        return "has called the driver in a wrong way";
    // a context that cannot be made current keeps what is in it
    if (report->left && !run->and_more && strcmp(report->failed, "cuCtxPushCurrent_v2"))
        return "has left something in the driver";
    if (outcome == FINISHED && run->in_driver && has_failed && !may_fail(report->failed))
        return "has not noticed";
    return outcome == FINISHED && !is_same ? "has another result" : NULL;
}

/**
 * One run in a process of its own.
 *
 * @param result number of allocations that could fail, and the sum of all that came out
 * @return its status, less than 0 if there is none
 */
static int run_process(Run *run, int result[2], char **files)
{
    int status, pipes[2];
    pid_t pid;

    remove(REPORT);
    for (int i = 0; files[i]; i++)
        remove(files[i]);
    if (pipe(pipes) < 0)
        return -1;
    fflush(NULL);
    pid = fork();
    if (!pid)
        run_filter(run, pipes[1]);
    close(pipes[1]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    if (read(pipes[0], result, 2 * sizeof(*result)) != 2 * sizeof(*result))
        result[0] = run->fault;
    close(pipes[0]);
    for (int i = 0; files[i]; i++)
        result[1] = read_file(files[i], NULL, result[1]);
    return status;
}

int main(int argc, char **argv)
{
    Run run = { 0 };
    int expected = 0, nb_wrong = 0, nb_failed = 0, more = 1;

    if (argc < 5 || sscanf(argv[2], "%dx%d", &run.width, &run.height) != 2)
        return 2;
    run.in_driver  = strncmp(argv[1], "alloc", 5);
    run.has_others = are_printed = !strcmp(argv[1], "other");
    run.and_more   = !!strchr(argv[1], '+');
    run.format     = av_get_pix_fmt(argv[3]);
    run.filter     = argv[4];
    av_log_set_callback(count_messages);
    setenv("CUDA_STAND_IN_REPORT", REPORT, 1);
    if (run.has_others) {
        int result[2], status = run_process(&run, result, argv + 5);

        return !WIFEXITED(status) || WEXITSTATUS(status) != ENDED_WITH_ERROR;
    }

    // frames repeat each other's: of many, not all are tried
    for (; more && nb_wrong < MAX_PROBLEMS; run.fault += run.and_more ? AND_MORE_STEP :
                                                         run.fault < MANY_FAULTS ? 1 : FAULT_STEP) {
        int result[2] = { 0 }, status = run_process(&run, result, argv + 5), has_failed;
        Report report = { "" };
        const char *problem;

        if (status < 0)
            return 2;
        read_file(REPORT, &report, 0);
        has_failed = run.in_driver ? !!report.failed[0] : run.fault && result[0] >= run.fault;
        more       = !run.fault || has_failed;
        nb_failed += has_failed;
        if (!run.fault)
            expected = result[1];
        problem = find_problem(&run, status, &report, has_failed, result[1] == expected);
        if (problem) {
            printf("%s fails, %d: the filter %s\n", run.in_driver ? report.failed : "allocation",
                   run.fault, problem);
            nb_wrong++;
        }
    }
    fprintf(stderr, "%d faults, %d went wrong\n", nb_failed, nb_wrong);
    return nb_wrong || !nb_failed;
}
