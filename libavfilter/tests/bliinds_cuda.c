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
 * bliinds_cuda for users of the API: with a stream of their own, which does not
 * wait for the default one, and on all GPUs of the machine at the same time.
 * Scores are compared with those of bliinds.
 *
 * With an argument, its kernels that pool, on made-up statistics of blocks, against a
 * sort: bit by bit.
 * Usage: bliinds_cuda [pool [SEED [CASES]]]
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/cuda_check.h"
#include "libavfilter/vf_bliinds_cuda.c"
#include "bliinds_pool.h"
#include "filter_graph.h"

#define CHECK_CU(x) FF_CUDA_CHECK_DL(ctx, s->queue.cu, x)

#define NB_FRAMES   50
#define MAX_RUNS    16

static const TestPicture picture = { .format = AV_PIX_FMT_NV12, .width = 322, .height = 182 };

/// One filter with what it needs, on a device or, without one, on the CPU.
typedef struct Run {
    AVBufferRef *device, *frames;
    CUstream stream;                    ///< NULL for the device's own
    TestGraph graph;
    char score[NB_FRAMES][32];
    int nb_scores;
} Run;

/// Make a stream of the run, or destroy it.
static int change_stream(Run *r, int open)
{
    AVCUDADeviceContext *hwctx = ((AVHWDeviceContext *)r->device->data)->hwctx;
    CudaFunctions *cu = hwctx->internal->cuda_dl;
    CUcontext dummy;
    CUresult res;

    if (cu->cuCtxPushCurrent(hwctx->cuda_ctx))
        return AVERROR_EXTERNAL;
    res = open ? cu->cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING)
               : cu->cuStreamDestroy(r->stream);
    cu->cuCtxPopCurrent(&dummy);
    hwctx->stream = r->stream;
    return res ? AVERROR_EXTERNAL : 0;
}

/**
 * @param device number of a GPU, -1 for the CPU
 * @return 0, AVERROR(ENODEV) if there is no such GPU, or another error
 */
static int open_run(Run *r, int device, int own_stream)
{
    char name[16];
    AVFrame *like;
    int ret;

    snprintf(name, sizeof(name), "%d", device);
    if (device >= 0 &&
        av_hwdevice_ctx_create(&r->device, AV_HWDEVICE_TYPE_CUDA, name, NULL, 0) < 0)
        return AVERROR(ENODEV);
    if (own_stream && (ret = change_stream(r, 1)) < 0)
        return ret;
    r->frames = r->device ? test_open_frames(r->device, &picture) : NULL;
    like = test_frame(r->frames, &picture, 0, 0);
    ret  = test_graph_open(&r->graph, r->device ? "bliinds_cuda" : "bliinds", &like, 0);
    av_frame_free(&like);
    return ret;
}

static void close_run(Run *r)
{
    avfilter_graph_free(&r->graph.graph);
    av_buffer_unref(&r->frames);
    if (r->stream)
        change_stream(r, 0);
    av_buffer_unref(&r->device);
}

/// Keep the score of a frame that has left the filter.
static int take(void *opaque, const AVFrame *frame)
{
    Run *r = opaque;
    const AVDictionaryEntry *score = av_dict_get(frame->metadata, "lavfi.bliinds.score", NULL, 0);

    if (frame->pts != r->nb_scores || r->nb_scores == NB_FRAMES || !score)
        return AVERROR_BUG;
    snprintf(r->score[r->nb_scores++], sizeof(*r->score), "%s", score->value);
    return 0;
}

/// Give a run the picture n, or at the end of them none.
static int send(Run *r, int n)
{
    AVFrame *frame = n < NB_FRAMES ? test_frame(r->frames, &picture, 0, n) : NULL;
    const int ret  = test_graph_send(&r->graph, frame ? &frame : NULL, r, take);

    av_frame_free(&frame);
    return ret;
}

/// Whether no thread sums more than 2^13 blocks of the largest frames, on the smallest GPU.
static int test_bound(void)
{
    BLIINDSCUDAContext s = { .queue.nb_multiprocessors = 1 };

    // the largest frame has 171 x 342 tiles, of which a thread has two blocks
    for (s.params.nb_tiles = 1; s.params.nb_tiles <= 171 * 342; s.params.nb_tiles++)
        for (int nb = 1; nb <= BLIINDS_MAX_BATCH; nb++)
            if (2 * DIV_UP(s.params.nb_tiles, tile_thread_blocks(&s, nb)) > 1 << 13)
                return 0;
    return 1;
}

/// @return 0, or 1 after a message
static int test_api(void)
{
    static Run run[MAX_RUNS], early;
    int nb_runs = 0, ret;

    // the CPU, then each GPU without and with a stream of its own
    do {
        ret = open_run(&run[nb_runs], (nb_runs + 1) / 2 - 1, nb_runs > 0 && nb_runs % 2 == 0);
        nb_runs += ret >= 0;
    } while (ret >= 0 && nb_runs < MAX_RUNS);
    if (ret == AVERROR(ENODEV))
        ret = 0;
    for (int i = 0; ret >= 0 && i < (NB_FRAMES + 1) * nb_runs; i++)
        ret = send(&run[i % nb_runs], i / nb_runs);
    if (ret < 0)
        printf("error: %s\n", av_err2str(ret));

    for (int i = 1; i < nb_runs && ret >= 0; i++)
        if (memcmp(run[i].score, run[0].score, sizeof(run[0].score))) {
            printf("GPU %d, %s a stream of its own: other scores than the CPU's\n", (i - 1) / 2,
                   run[i].stream ? "with" : "without");
            ret = AVERROR_BUG;
        }
    // closed with frames in flight, as ffmpeg does when it is interrupted
    if (ret >= 0 && nb_runs > 1 && (ret = open_run(&early, 0, 0)) >= 0)
        for (int n = 0; n < 3 && ret >= 0; n++)
            ret = send(&early, n);
    if (ret >= 0)
        printf(nb_runs > 1 ? "the same scores\n" : "no GPU\n");
    close_run(&early);
    for (int i = 0; i <= nb_runs && i < MAX_RUNS; i++)
        close_run(&run[i]);
    return ret < 0;
}

// ---- pooling ----

static int failed;

/// Bins follow each other without a gap, have their first value and no other's.
static void test_bins(int statistic)
{
    for (int bin = 0; bin < BLIINDS_BINS; bin++) {
        const uint32_t start = bliinds_bin_start(statistic, bin);
        const uint32_t end   = bliinds_bin_start(statistic, bin + 1);
        const uint32_t last  = bliinds_bits(BLIINDS_SUB_MAX);
        uint32_t step = 1;
        int wrong = start >= end || !bliinds_bin_is_open(bin) &&
                    start >> BLIINDS_BIN_BITS != (end - 1) >> BLIINDS_BIN_BITS;

        // the ends one by one, the rest in steps that meet all kinds of lower bits
        for (uint32_t bits = start; bits < end && bits <= last; bits += step) {
            wrong |= bliinds_bin(bliinds_from_bits(bits), statistic) != bin;
            step = bits - start < 4 || end - bits < 1024 ? 1 : end - bits < 2000 ? 7 : 997;
        }
        if (wrong)
            fprintf(stderr, "statistic %d: bin %d has others, or none\n", statistic, bin);
        failed += wrong;
    }
}

/// Blocks of a level: made up, their counts, and what is expected of them.
static void make_level(AVLFG *lfg, BLIINDSCUDABlock *block, BLIINDSCUDAState *state,
                       BLIINDSLevelSums *expected, float *value, int l, int n)
{
    for (int i = 0; i < n; i++)
        block[i].gamma = (av_lfg_get(lfg) & 1u) << 31;
    for (int k = 0; k < BLIINDS_NB_STATISTICS; k++) {
        BLIINDSPooled *pooled = &expected->pooled[k];

        make_values(lfg, value, n, k, av_lfg_get(lfg) >> 4);
        for (int i = 0; i < n; i++) {
            const int shape = value[i], index = shape == BLIINDS_GAMMA_FLAT ?
                                                BLIINDS_GAMMA_NONE : shape - BLIINDS_GAMMA_MIN;

            bliinds_sum_add(&pooled->grid[block[i].gamma >> 31], bliinds_fixed(value[i]));
            if (k == BLIINDS_GAMMA)
                block[i].gamma |= index;
            else
                block[i].statistic[k] = value[i];
            state->count[l][k][k == BLIINDS_GAMMA ? bliinds_gamma_bin(index)
                                                  : bliinds_bin(value[i], k)]++;
        }
        pooled->worst = sorted_worst(value, n, k);
    }
}

static void check_pooled(const char *what, const BLIINDSPooled *got, const BLIINDSPooled *expected,
                         int l, int k)
{
    if (same_sum(got->grid[0], expected->grid[0]) && same_sum(got->grid[1], expected->grid[1]) &&
        same_sum(got->worst, expected->worst))
        return;
    fprintf(stderr, "%s, level %d, statistic %d: worst %"PRIu64" + %"PRIu64" / 2^32, not %"PRIu64
            " + %"PRIu64"\n", what, l + 1, k, got->worst.whole, got->worst.fraction,
            expected->worst.whole, expected->worst.fraction);
    failed++;
}

/// Pool a batch of made-up frames of a size; the CUDA context is pushed.
static int test_batch(AVFilterContext *ctx, AVLFG *lfg, int nb_frames)
{
    BLIINDSCUDAContext *s = ctx->priv;
    CudaFunctions *cu = s->queue.cu;
    const BLIINDSCUDALevel *last = &s->params.level[BLIINDS_LEVELS - 1];
    const int nb_blocks = last->first + last->bw * last->bh;
    const CUdeviceptr result = (uintptr_t)s->queue.result;
    static BLIINDSLevelSums expected[BLIINDS_MAX_BATCH][BLIINDS_LEVELS];
    static BLIINDSLevelSums got[BLIINDS_MAX_BATCH][BLIINDS_LEVELS];
    static BLIINDSCUDAState state[BLIINDS_MAX_BATCH], zero[BLIINDS_MAX_BATCH];
    BLIINDSCUDABlock *block = av_malloc_array(nb_blocks, sizeof(*block));
    float *value = av_malloc_array(nb_blocks, sizeof(*value));
    int ret = block && value ? 0 : AVERROR(ENOMEM);

    memset(expected, 0, sizeof(expected));
    for (int i = 0; i < nb_frames && ret >= 0; i++) {
        for (int l = 0; l < BLIINDS_LEVELS; l++) {
            const BLIINDSCUDALevel *level = &s->params.level[l];

            make_level(lfg, block + level->first, &state[i], &expected[i][l], value, l,
                       level->bw * level->bh);
        }
        ret = CHECK_CU(cu->cuMemcpyHtoD(s->block_memory + i * s->params.frame_size, block,
                                        nb_blocks * sizeof(*block)));
        s->params.frame[i].result = result + i * sizeof(*got);
    }
    s->queue.nb_batch = nb_frames;
    if (ret < 0 ||
        (ret = CHECK_CU(cu->cuMemcpyHtoD(s->state, state, sizeof(state)))) < 0 ||
        (ret = launch_pool(ctx)) < 0 ||
        (ret = CHECK_CU(cu->cuStreamSynchronize(s->queue.hwctx->stream))) < 0 ||
        (ret = CHECK_CU(cu->cuMemcpyDtoH(got, result, nb_frames * sizeof(*got)))) < 0 ||
        (ret = CHECK_CU(cu->cuMemcpyDtoH(state, s->state, sizeof(state)))) < 0)
        goto end;

    for (int i = 0; i < nb_frames; i++) {
        char what[64];

        snprintf(what, sizeof(what), "%dx%d, frame %d of %d", s->width, s->height, i + 1,
                 nb_frames);
        for (int l = 0; l < BLIINDS_LEVELS; l++)
            for (int k = 0; k < BLIINDS_NB_STATISTICS; k++)
                check_pooled(what, &got[i][l].pooled[k], &expected[i][l].pooled[k], l, k);
    }
    if (memcmp(state, zero, sizeof(state))) {
        fprintf(stderr, "%dx%d: the state is not as it was\n", s->width, s->height);
        memset(state, 0, sizeof(state));
        failed++;
    }

end:
    s->queue.nb_batch = 0;
    av_free(block);
    av_free(value);
    return ret;
}

/// @return 0, or 1 after a message
static int test_pool(unsigned seed, int nb_cases)
{
    static const int large[][2] = { { 1920, 1080 }, { 3840, 2160 }, { 9486, 9486 } };
    static Run run;
    AVFilterContext *ctx;
    AVLFG lfg;
    int ret = open_run(&run, 0, 0);

    av_lfg_init(&lfg, seed);
    for (int i = 0; i < BLIINDS_NB_FLOATS; i++)
        test_bins(i);
    ctx = ret < 0 ? NULL : run.graph.source[0]->outputs[0]->dst;
    for (int i = 0; i < nb_cases + FF_ARRAY_ELEMS(large) && ret >= 0; i++) {
        const int size = i % 100 ? 60 : 1000, is_large = i >= nb_cases;
        const int w = is_large ? large[i - nb_cases][0]
                               : BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size;
        const int h = is_large ? large[i - nb_cases][1]
                               : BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size;

        ret = ff_cuda_queue_enter(ctx);
        if (ret < 0)
            break;
        ret = alloc_blocks(ctx, w, h);
        if (ret >= 0)
            ret = test_batch(ctx, &lfg,
                             1 + av_lfg_get(&lfg) % ((CUDAQueue *)ctx->priv)->max_batch);
        ff_cuda_queue_leave(ctx);
    }
    if (ret < 0)
        printf("error: %s\n", av_err2str(ret));
    else if (!failed)
        printf("all as by a sort\n");
    close_run(&run);
    return ret < 0 || failed;
}

int main(int argc, char **argv)
{
    av_log_set_level(AV_LOG_FATAL);
    if (argc > 1)
        return test_pool(argc > 2 ? strtoul(argv[2], NULL, 0) : 1,
                         argc > 3 ? atoi(argv[3]) : 10000);
    if (!test_bound()) {
        printf("error: a thread has too many blocks\n");
        return 1;
    }
    return test_api();
}
