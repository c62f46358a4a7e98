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
 * The kernels of bliinds_cuda that pool, on made-up statistics of blocks, against
 * a sort: bit by bit.
 * Usage: bliinds_pool_cuda [SEED [CASES]]
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavfilter/vf_bliinds_cuda.c"
#include "bliinds_pool.h"

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
        expected[BLIINDS_GAMMA].worst.fraction   += gamma[i] == BLIINDS_GAMMA_NONE;
    }
    expected[BLIINDS_GAMMA].worst.whole = sorted_worst_gamma(gamma, n);
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

static int same_sum(BLIINDSSum a, BLIINDSSum b)
{
    return a.whole + (a.fraction >> 32) == b.whole + (b.fraction >> 32) &&
           (uint32_t)a.fraction == (uint32_t)b.fraction;
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
    CudaFunctions *cu = s->cuda.cu;
    const BLIINDSCUDALevel *last = &s->params.level[BLIINDS_LEVELS - 1];
    const int nb_blocks = last->first + last->bw * last->bh;
    const CUdeviceptr result = s->cuda.result_device;
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
    s->nb_batch = nb_frames;
    if ((ret = CHECK_CU(cu->cuMemcpyHtoD(s->state, state, nb_frames * sizeof(*state)))) < 0 ||
        (ret = launch_pool(ctx)) < 0 ||
        (ret = CHECK_CU(cu->cuStreamSynchronize(s->cuda.hwctx->stream))) < 0 ||
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
    s->nb_batch = 0;
    av_free(expected);
    av_free(block);
    av_free(state);
    av_free(got);
    return ret;
}

static int test_size(AVFilterContext *ctx, AVBufferRef *frames, AVLFG *lfg, int w, int h)
{
    BLIINDSCUDAContext *s = ctx->priv;
    CUcontext dummy;
    int ret = prepare(ctx, frames, w, h);

    if (ret < 0)
        return ret;
    ret = CHECK_CU(s->cuda.cu->cuCtxPushCurrent(s->cuda.hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    ret = test_batch(ctx, lfg, 1 + av_lfg_get(lfg) % s->max_batch);
    CHECK_CU(s->cuda.cu->cuCtxPopCurrent(&dummy));
    return ret;
}

static AVBufferRef *open_frames(AVBufferRef *device)
{
    AVBufferRef *frames = av_hwframe_ctx_alloc(device);
    AVHWFramesContext *c;

    if (!frames)
        return NULL;
    c = (AVHWFramesContext *)frames->data;
    c->format    = AV_PIX_FMT_CUDA;
    c->sw_format = AV_PIX_FMT_NV12;
    c->width     = c->height = 64;
    if (av_hwframe_ctx_init(frames) < 0)
        av_buffer_unref(&frames);
    return frames;
}

int main(int argc, char **argv)
{
    const unsigned seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    const int nb_cases  = argc > 2 ? atoi(argv[2]) : 10000;
    static const int large[][2] = { { 1920, 1080 }, { 3840, 2160 }, { 9486, 9486 } };
    AVBufferRef *device = NULL, *frames = NULL;
    AVFilterGraph *graph = avfilter_graph_alloc();
    AVFilterContext *ctx = NULL;
    AVLFG lfg;
    int ret = 0;

    av_lfg_init(&lfg, seed);
    if (av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0) < 0) {
        printf("no GPU\n");
        goto end;
    }
    frames = open_frames(device);
    if (graph)
        ctx = avfilter_graph_alloc_filter(graph, avfilter_get_by_name("bliinds_cuda"), "pool");
    if (!frames || !ctx) {
        ret = AVERROR(ENOMEM);
        goto end;
    }
    for (int i = 0; i < nb_cases && ret >= 0; i++) {
        const int size = i % 100 ? 60 : 1000;

        ret = test_size(ctx, frames, &lfg, BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size,
                        BLIINDS_MIN_SIZE + av_lfg_get(&lfg) % size);
    }
    for (int i = 0; i < FF_ARRAY_ELEMS(large) && nb_cases && ret >= 0; i++)
        ret = test_size(ctx, frames, &lfg, large[i][0], large[i][1]);
    if (ret >= 0 && !failed)
        printf("all as by a sort\n");

end:
    if (ret < 0)
        printf("error: %s\n", av_err2str(ret));
    avfilter_graph_free(&graph);
    av_buffer_unref(&frames);
    av_buffer_unref(&device);
    return ret < 0 || failed;
}
