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
 * Test bliinds_cuda through the API: on all GPUs of the machine at the same time, each with a
 * non-blocking stream of the user. The scores must equal those of bliinds.
 *
 * With an argument, test the pooling kernels: the sums for random statistics of blocks must equal,
 * bit by bit, the sums by a sort.
 */

#include <stdio.h>
#include <string.h>

#include "libavfilter/vf_bliinds_cuda.c"
#include "bliinds_pool.h"
#include "filter_graph.h"

#define NB_FRAMES 50
#define MAX_RUNS  16
#define NB_CASES  10000

static const TestPicture picture = { .format = AV_PIX_FMT_NV12, .width = 322, .height = 182 };

/// One instance of the filter, on a GPU or, if device is NULL, on the CPU.
typedef struct Run {
    AVBufferRef *device, *frames;
    CUstream stream;
    TestGraph graph;
    AVBPrint text;                      ///< metadata that it has added to the frames
} Run;

/// Create the stream of a run, or destroy it if there is one.
static void change_stream(Run *r)
{
    AVCUDADeviceContext *hwctx = ((AVHWDeviceContext *)r->device->data)->hwctx;
    CudaFunctions *cu = hwctx->internal->cuda_dl;
    CUcontext dummy;

    av_assert0(!cu->cuCtxPushCurrent(hwctx->cuda_ctx));
    av_assert0(!(r->stream ? cu->cuStreamDestroy(r->stream)
                           : cu->cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING)));
    av_assert0(!cu->cuCtxPopCurrent(&dummy));
    hwctx->stream = r->stream;
}

/// Open the filter on a GPU, or on the CPU if device is -1. @return 1, or 0 if there is no such GPU
static int open_run(Run *r, int device)
{
    char name[16];
    AVFrame *like;

    snprintf(name, sizeof(name), "%d", device);
    if (device >= 0) {
        if (av_hwdevice_ctx_create(&r->device, AV_HWDEVICE_TYPE_CUDA, name, NULL, 0) < 0)
            return 0;
        change_stream(r);
        r->frames = test_open_frames(r->device, &picture);
    }
    like = test_frame(r->frames, &picture, 0, 0);
    av_assert0(test_graph_open(&r->graph, r->device ? "bliinds_cuda=model=vmaf1_est5"
                                                    : "bliinds=model=vmaf1_est5", &like, 0) >= 0);
    av_frame_free(&like);
    av_bprint_init(&r->text, 0, AV_BPRINT_SIZE_UNLIMITED);
    return 1;
}

static void close_run(Run *r)
{
    avfilter_graph_free(&r->graph.graph);
    av_buffer_unref(&r->frames);
    if (r->device)
        change_stream(r);
    av_buffer_unref(&r->device);
    av_bprint_finalize(&r->text, NULL);
}

/// Append the timestamp and the metadata of a filtered frame to the text of its run.
static int append_metadata(void *opaque, const AVFrame *frame)
{
    Run *r = opaque;

    av_bprintf(&r->text, "%d\n", (int)frame->pts);
    test_describe(&r->text, frame);
    return 0;
}

/// Check that no thread sums more than 2^13 blocks, for all frame sizes on the smallest GPU.
static void test_bound(void)
{
    BLIINDSCUDAContext s = { .queue.nb_multiprocessors = 1 };

    // the largest frame has 171 x 342 tiles; a thread has two blocks per tile
    for (s.params.nb_tiles = 1; s.params.nb_tiles <= 171 * 342; s.params.nb_tiles++)
        for (int nb = 1; nb <= BLIINDS_MAX_BATCH; nb++)
            CHECK(2 * DIV_UP(s.params.nb_tiles, tile_thread_blocks(&s, nb)) <= 1 << 13,
                  "a thread has too many blocks of %d tiles\n", s.params.nb_tiles);
}

/// Send the same frames to the CPU and to each GPU, and compare the scores.
static void test_api(void)
{
    static Run run[MAX_RUNS];
    int nb_runs = 0;

    // the CPU, then each GPU
    while (nb_runs < MAX_RUNS && open_run(&run[nb_runs], nb_runs - 1))
        nb_runs++;
    for (int i = 0; i < (NB_FRAMES + 1) * nb_runs; i++) {
        Run *r = &run[i % nb_runs];
        AVFrame *frame = i / nb_runs < NB_FRAMES ? test_frame(r->frames, &picture, 0, i / nb_runs)
                                                 : NULL;

        av_assert0(test_graph_send(&r->graph, frame ? &frame : NULL, 0, r, append_metadata) >= 0);
        av_frame_free(&frame);
    }
    for (int i = 1; i < nb_runs; i++)
        CHECK(strstr(run[0].text.str, "score=") && !strcmp(run[i].text.str, run[0].text.str),
              "GPU %d: other scores than the CPU's\n", i - 1);
    if (!failed)
        printf(nb_runs > 1 ? "the same scores\n" : "no GPU\n");
    for (int i = 0; i < nb_runs; i++)
        close_run(&run[i]);
}

// ---- pooling ----

/// Create random blocks of a level, their histograms, and the expected sums.
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

            bliinds_sum_add(&pooled->by_class[block[i].gamma >> 31], bliinds_fixed(value[i]));
            if (k == BLIINDS_GAMMA)
                block[i].gamma |= index;
            else
                block[i].statistic[k] = value[i];
            state->hist[l][k][k == BLIINDS_GAMMA ? bliinds_gamma_bin(index)
                                                  : bliinds_bin(value[i], k)]++;
        }
        pooled->pooled10 = sorted_pool10(value, n, k);
    }
}

/// Pool a batch of frames with random blocks, and compare with the expected sums.
static void test_batch(AVFilterContext *ctx, AVLFG *lfg, int width, int height)
{
    static BLIINDSLevelSums expected[BLIINDS_MAX_BATCH][BLIINDS_LEVELS];
    static BLIINDSLevelSums got[BLIINDS_MAX_BATCH][BLIINDS_LEVELS];
    static BLIINDSCUDAState state[BLIINDS_MAX_BATCH], zero[BLIINDS_MAX_BATCH];
    BLIINDSCUDAContext *s = ctx->priv;
    CudaFunctions *cu = s->queue.cu;
    const CUdeviceptr result = (uintptr_t)s->queue.result;
    const BLIINDSCUDALevel *level = s->params.level, *last = &level[BLIINDS_LEVELS - 1];
    BLIINDSCUDABlock *block;
    float *value;
    int nb_blocks, nb_frames;

    av_assert0(ff_cuda_queue_enter(ctx) >= 0 && alloc_blocks(ctx, width, height) >= 0);
    s->queue.stream = s->queue.hwctx->stream;
    nb_frames = 1 + av_lfg_get(lfg) % s->queue.max_batch;
    nb_blocks = last->first + last->bw * last->bh;
    block = av_malloc_array(nb_blocks, sizeof(*block));
    value = av_malloc_array(nb_blocks, sizeof(*value));
    av_assert0(block && value);
    memset(expected, 0, sizeof(expected));
    memset(state, 0, sizeof(state));
    for (int i = 0; i < nb_frames; i++) {
        for (int l = 0; l < BLIINDS_LEVELS; l++)
            make_level(lfg, block + level[l].first, &state[i], &expected[i][l], value, l,
                       level[l].bw * level[l].bh);
        av_assert0(ff_cuda_queue_upload(ctx, s->block_memory + i * s->params.frame_size, block,
                                        nb_blocks * sizeof(*block)) >= 0);
        s->params.frame[i].result = result + i * sizeof(*got);
    }
    s->queue.nb_batch = nb_frames;
    av_assert0(ff_cuda_queue_upload(ctx, s->state, state, sizeof(state)) >= 0 &&
               launch_pool(ctx) >= 0 &&
               !cu->cuStreamSynchronize(s->queue.hwctx->stream) &&
               !cu->cuMemcpyDtoH(got, result, nb_frames * sizeof(*got)) &&
               !cu->cuMemcpyDtoH(state, s->state, sizeof(state)));
    s->queue.nb_batch = 0;
    ff_cuda_queue_leave(ctx);

    for (int i = 0; i < nb_frames * BLIINDS_LEVELS * BLIINDS_NB_STATISTICS; i++) {
        const int frame = i / BLIINDS_NB_STATISTICS / BLIINDS_LEVELS;
        const int l = i / BLIINDS_NB_STATISTICS % BLIINDS_LEVELS, k = i % BLIINDS_NB_STATISTICS;
        const BLIINDSPooled *p = &got[frame][l].pooled[k], *e = &expected[frame][l].pooled[k];

        CHECK(same_sum(p->pooled10, e->pooled10) &&
              same_sum(p->by_class[0], e->by_class[0]) && same_sum(p->by_class[1], e->by_class[1]),
              "%dx%d, frame %d of %d, level %d, statistic %d\n", width, height, frame + 1, nb_frames,
              l + 1, k);
    }
    CHECK(!memcmp(state, zero, sizeof(state)), "%dx%d: the state is left\n", width, height);
    av_free(block);
    av_free(value);
}

/// Pool random blocks of frames of many sizes.
static void test_pool(void)
{
    static const int large[][2] = { { 1920, 1080 }, { 3840, 2160 }, { 9486, 9486 } };
    static Run run;
    AVFilterContext *ctx;
    AVLFG lfg;

    av_lfg_init(&lfg, 1);
    av_assert0(open_run(&run, 0));
    ctx = run.graph.source[0]->outputs[0]->dst;
    for (int i = 0; i < NB_CASES; i++) {
        const int size = i % 100 ? 60 : 1000;
        const int width = BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size;

        test_batch(ctx, &lfg, width, BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size);
    }
    for (int i = 0; i < FF_ARRAY_ELEMS(large); i++)
        test_batch(ctx, &lfg, large[i][0], large[i][1]);
    close_run(&run);
    if (!failed)
        printf("all as by a sort\n");
}

int main(int argc, char **argv)
{
    av_log_set_level(AV_LOG_FATAL);
    test_bound();
    if (argc > 1)
        test_pool();
    else
        test_api();
    return failed;
}
