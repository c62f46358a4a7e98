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

#define WIDTH       322
#define HEIGHT      182
#define NB_FRAMES   50
#define MAX_RUNS    16

#define SCORE "lavfi.bliinds.score"

/// One filter with what it needs, on a device or, without one, on the CPU.
typedef struct Run {
    AVBufferRef *device, *frames;
    CUstream stream;                    ///< NULL for the device's own
    TestGraph graph;
    char score[NB_FRAMES][32];
    int nb_scores;
} Run;

static int open_stream(Run *r)
{
    AVCUDADeviceContext *hwctx = ((AVHWDeviceContext *)r->device->data)->hwctx;
    CudaFunctions *cu = hwctx->internal->cuda_dl;
    CUcontext dummy;
    CUresult res;

    if (cu->cuCtxPushCurrent(hwctx->cuda_ctx))
        return AVERROR_EXTERNAL;
    res = cu->cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING);
    cu->cuCtxPopCurrent(&dummy);
    hwctx->stream = r->stream;
    return res ? AVERROR_EXTERNAL : 0;
}

static int open_graph(Run *r)
{
    AVFrame like = { .format = r->frames ? AV_PIX_FMT_CUDA : AV_PIX_FMT_NV12, .width = WIDTH,
                     .height = HEIGHT, .hw_frames_ctx = r->frames };

    return test_graph_open(&r->graph, r->frames ? "bliinds_cuda" : "bliinds",
                           (AVFrame *[]){ &like }, 0);
}

/// The filter, between the source and the sink.
static AVFilterContext *filter_of(const Run *r)
{
    return r->graph.source[0]->outputs[0]->dst;
}

/**
 * @param device number of a GPU, -1 for the CPU
 * @return 0, AVERROR(ENODEV) if there is no such GPU, or another error
 */
static int open_run(Run *r, int device, int own_stream)
{
    char name[16];
    int ret;

    if (device >= 0) {
        snprintf(name, sizeof(name), "%d", device);
        if (av_hwdevice_ctx_create(&r->device, AV_HWDEVICE_TYPE_CUDA, name, NULL, 0) < 0)
            return AVERROR(ENODEV);
        if ((own_stream && (ret = open_stream(r)) < 0) ||
            (ret = test_open_frames(&r->frames, r->device, AV_PIX_FMT_NV12, WIDTH, HEIGHT)) < 0)
            return ret;
    }
    return open_graph(r);
}

static void close_run(Run *r)
{
    avfilter_graph_free(&r->graph.graph);
    av_buffer_unref(&r->frames);
    if (r->stream) {
        AVCUDADeviceContext *hwctx = ((AVHWDeviceContext *)r->device->data)->hwctx;
        CudaFunctions *cu = hwctx->internal->cuda_dl;
        CUcontext dummy;

        cu->cuCtxPushCurrent(hwctx->cuda_ctx);
        cu->cuStreamDestroy(r->stream);
        cu->cuCtxPopCurrent(&dummy);
    }
    av_buffer_unref(&r->device);
}

/// A picture that is another one for each number: noise over a pattern.
static AVFrame *draw(int n)
{
    AVFrame *frame = test_new_frame(AV_PIX_FMT_NV12, WIDTH, HEIGHT);
    unsigned seed = n;

    if (!frame)
        return NULL;
    frame->pts = n;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            seed = seed * 1664525 + 1013904223;
            frame->data[0][y * frame->linesize[0] + x] =
                (x * (n + 3) / 7 ^ y) / 2 % 128 + 64 + (seed >> 28) * n / NB_FRAMES;
        }
    for (int y = 0; y < (HEIGHT + 1) / 2; y++)
        memset(frame->data[1] + y * frame->linesize[1], 128, WIDTH);
    return frame;
}

/// Keep the score of a frame that has left the filter.
static int take(void *opaque, const AVFrame *frame)
{
    Run *r = opaque;
    const AVDictionaryEntry *score = av_dict_get(frame->metadata, SCORE, NULL, 0);

    if (frame->pts != r->nb_scores || r->nb_scores == NB_FRAMES || !score)
        return AVERROR_BUG;
    snprintf(r->score[r->nb_scores++], sizeof(*r->score), "%s", score->value);
    return 0;
}

/// Give a picture to the filter, NULL at the end.
static int send(Run *r, const AVFrame *picture)
{
    AVFrame *frame = NULL;
    int ret;

    if (picture) {
        frame = r->frames ? test_upload(r->frames, picture) : av_frame_clone(picture);
        if (!frame)
            return AVERROR(ENOMEM);
    }
    ret = av_buffersrc_add_frame(r->graph.source[0], frame);
    av_frame_free(&frame);
    return ret < 0 ? ret : test_graph_receive(&r->graph, 0, r, take);
}

/// Give a few pictures to a filter, none of which it is to give back before it is closed.
static int send_early(Run *r)
{
    int ret = 0;

    for (int n = 0; n < 3 && ret >= 0; n++) {
        AVFrame *picture = draw(n);

        ret = picture ? send(r, picture) : AVERROR(ENOMEM);
        av_frame_free(&picture);
    }
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
    int nb_runs = 0, nb_devices = 0, ret;

    ret = open_run(&run[nb_runs++], -1, 0);
    while (ret >= 0 && nb_runs + 2 <= MAX_RUNS) {
        ret = open_run(&run[nb_runs++], nb_devices, 0);
        if (ret >= 0)
            ret = open_run(&run[nb_runs++], nb_devices, 1);
        nb_devices += ret >= 0;
    }
    if (ret == AVERROR(ENODEV)) {
        nb_runs--;
        ret = 0;
    }
    for (int n = 0; ret >= 0 && n <= NB_FRAMES; n++) {
        AVFrame *picture = n < NB_FRAMES ? draw(n) : NULL;

        if (n < NB_FRAMES && !picture)
            ret = AVERROR(ENOMEM);
        for (int i = 0; i < nb_runs && ret >= 0; i++)
            ret = send(&run[i], picture);
        av_frame_free(&picture);
    }
    if (ret < 0)
        printf("error: %s\n", av_err2str(ret));

    for (int i = 1; i < nb_runs && ret >= 0; i++) {
        int alike = 0;

        for (int n = 0; n < run[i].nb_scores; n++)
            alike += !strcmp(run[i].score[n], run[0].score[n]);
        fprintf(stderr, "GPU %d, %s stream: %d of %d scores are those of the CPU\n",
                (i - 1) / 2, run[i].stream ? "a" : "no", alike, NB_FRAMES);
        if (alike < NB_FRAMES)
            ret = AVERROR_BUG;
    }
    // closed with frames in flight, as ffmpeg does when it is interrupted
    if (ret >= 0 && nb_devices && (ret = open_run(&early, 0, 0)) >= 0)
        ret = send_early(&early);
    if (ret >= 0)
        printf(nb_devices ? "the same scores\n" : "no GPU\n");
    close_run(&early);
    for (int i = 0; i < nb_runs; i++)
        close_run(&run[i]);
    return ret < 0;
}

// ---- pooling ----

static int failed;

/// A frame's blocks of a level: made up, and what is expected of them.
static int make_level(AVLFG *lfg, BLIINDSCUDABlock *block, BLIINDSCUDAState *state,
                      BLIINDSCUDAPooled expected[BLIINDS_NB_POOLED], int l, int n, int *kind)
{
    float *value    = av_malloc_array(n, sizeof(*value));
    uint16_t *gamma = av_malloc_array(n, sizeof(*gamma));

    if (!value || !gamma) {
        av_free(value);
        av_free(gamma);
        return AVERROR(ENOMEM);
    }
    make_gammas(lfg, gamma, n);
    for (int i = 0; i < n; i++) {
        const int c = av_lfg_get(lfg) & 1;

        block[i].gamma = gamma[i] | (uint32_t)c << 31;
        state->count[l][BLIINDS_GAMMA][bliinds_gamma_bin(gamma[i])]++;
        expected[BLIINDS_GAMMA].grid[c].fraction += bliinds_gamma_value(gamma[i]);
    }
    expected[BLIINDS_GAMMA].worst.fraction = sorted_worst_gamma(gamma, n);
    for (int k = 0; k < BLIINDS_NB_STATISTICS; k++) {
        kind[k] = av_lfg_get(lfg) % FF_ARRAY_ELEMS(kind_name);
        make_values(lfg, value, n, k, kind[k]);
        for (int i = 0; i < n; i++) {
            block[i].statistic[k] = value[i];
            state->count[l][k][bliinds_bin(value[i], k)]++;
            bliinds_sum_add(&expected[k].grid[block[i].gamma >> 31], bliinds_fixed(value[i]));
        }
        expected[k].worst = sorted_worst(value, n);
    }
    av_free(value);
    av_free(gamma);
    return 0;
}

/// Those of gamma are counts: see BLIINDSCUDAPooled.
static int same_pooled(const BLIINDSCUDAPooled *a, const BLIINDSCUDAPooled *b, int is_gamma)
{
    return is_gamma ? !memcmp(a, b, sizeof(*a))
                    : same_sum(a->grid[0], b->grid[0]) && same_sum(a->grid[1], b->grid[1]) &&
                      same_sum(a->worst, b->worst);
}

static int is_zero(const BLIINDSCUDAState *state)
{
    const uint64_t *word = (const uint64_t *)state;

    for (int i = 0; i < sizeof(*state) / sizeof(*word); i++)
        if (word[i])
            return 0;
    return 1;
}

/// Pool a batch of made-up frames of a size; the CUDA context is pushed.
static int test_batch(AVFilterContext *ctx, AVLFG *lfg, int nb_frames)
{
    BLIINDSCUDAContext *s = ctx->priv;
    CudaFunctions *cu = s->queue.cu;
    const BLIINDSCUDALevel *last = &s->params.level[BLIINDS_LEVELS - 1];
    const int nb_blocks = last->first + last->bw * last->bh;
    const CUdeviceptr result = s->queue.result_device;
    BLIINDSCUDAPooled (*expected)[BLIINDS_LEVELS][BLIINDS_NB_POOLED] =
        av_calloc(nb_frames, sizeof(*expected));
    int kind[BLIINDS_MAX_BATCH][BLIINDS_LEVELS][BLIINDS_NB_STATISTICS];
    BLIINDSCUDABlock *block = av_malloc_array(nb_blocks, sizeof(*block));
    BLIINDSCUDAState *state = av_calloc(nb_frames, sizeof(*state));
    BLIINDSCUDAResult *got  = av_calloc(nb_frames, sizeof(*got));
    int ret = AVERROR(ENOMEM);

    if (!expected || !block || !state || !got)
        goto end;
    for (int i = 0; i < nb_frames; i++) {
        for (int l = 0; l < BLIINDS_LEVELS; l++) {
            const BLIINDSCUDALevel *level = &s->params.level[l];

            ret = make_level(lfg, block + level->first, &state[i], expected[i][l], l,
                             level->bw * level->bh, kind[i][l]);
            if (ret < 0)
                goto end;
        }
        ret = CHECK_CU(cu->cuMemcpyHtoD(s->block_memory + i * s->params.frame_size, block,
                                        nb_blocks * sizeof(*block)));
        if (ret < 0)
            goto end;
        s->params.frame[i].result = result + i * sizeof(*got);
    }
    s->queue.nb_batch = nb_frames;
    if ((ret = CHECK_CU(cu->cuMemcpyHtoD(s->state, state, nb_frames * sizeof(*state)))) < 0 ||
        (ret = launch_pool(ctx)) < 0 ||
        (ret = CHECK_CU(cu->cuStreamSynchronize(s->queue.hwctx->stream))) < 0 ||
        (ret = CHECK_CU(cu->cuMemcpyDtoH(got, result, nb_frames * sizeof(*got)))) < 0 ||
        (ret = CHECK_CU(cu->cuMemcpyDtoH(state, s->state, nb_frames * sizeof(*state)))) < 0)
        goto end;

    for (int i = 0; i < nb_frames; i++) {
        for (int l = 0; l < BLIINDS_LEVELS; l++)
            for (int k = 0; k < BLIINDS_NB_POOLED; k++)
                if (!same_pooled(&got[i].pooled[l][k], &expected[i][l][k], k == BLIINDS_GAMMA)) {
                    const BLIINDSSum *a = &got[i].pooled[l][k].worst, *b = &expected[i][l][k].worst;

                    fprintf(stderr, "%dx%d, frame %d of %d, level %d, statistic %d (%s): worst "
                            "%"PRIu64" + %"PRIu64" / 2^32, not %"PRIu64" + %"PRIu64"\n", s->width,
                            s->height, i + 1, nb_frames, l + 1, k,
                            k < BLIINDS_NB_STATISTICS ? kind_name[kind[i][l][k]] : "gamma",
                            a->whole, a->fraction, b->whole, b->fraction);
                    failed++;
                }
        if (!is_zero(&state[i])) {
            fprintf(stderr, "%dx%d, frame %d of %d: the state is not as it was\n",
                    s->width, s->height, i + 1, nb_frames);
            failed++;
        }
    }

end:
    s->queue.nb_batch = 0;
    av_free(expected);
    av_free(block);
    av_free(state);
    av_free(got);
    return ret;
}

/// @return 0, or 1 after a message
static int test_pool(unsigned seed, int nb_cases)
{
    static const int large[][2] = { { 1920, 1080 }, { 3840, 2160 }, { 9486, 9486 } };
    static Run run;
    AVLFG lfg;
    int ret = open_run(&run, 0, 0);

    av_lfg_init(&lfg, seed);
    if (ret == AVERROR(ENODEV))
        printf("no GPU\n");
    for (int i = 0; i < nb_cases + FF_ARRAY_ELEMS(large) && ret >= 0; i++) {
        const int size = i % 100 ? 60 : 1000, is_large = i >= nb_cases;
        const int w = is_large ? large[i - nb_cases][0]
                               : BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size;
        const int h = is_large ? large[i - nb_cases][1]
                               : BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size;

        ret = ff_cuda_queue_enter(filter_of(&run));
        if (ret < 0)
            break;
        ret = alloc_blocks(filter_of(&run), w, h);
        if (ret >= 0)
            ret = test_batch(filter_of(&run), &lfg, 1 + av_lfg_get(&lfg) %
                             ((CUDAQueue *)filter_of(&run)->priv)->max_batch);
        ff_cuda_queue_leave(filter_of(&run));
    }
    if (ret >= 0 && !failed)
        printf("all as by a sort\n");
    else if (ret < 0 && ret != AVERROR(ENODEV))
        printf("error: %s\n", av_err2str(ret));
    close_run(&run);
    return ret < 0 && ret != AVERROR(ENODEV) || failed;
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
