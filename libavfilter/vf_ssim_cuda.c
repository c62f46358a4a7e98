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
 * Structural similarity (SSIM) of CUDA frames
 *
 * Z. Wang, A. C. Bovik, H. R. Sheikh and E. P. Simoncelli, "Image Quality
 * Assessment: From Error Visibility to Structural Similarity", IEEE
 * Transactions on Image Processing 13(4), 2004.
 *
 * The filter reproduces the metadata, log lines and summary of vf_ssim.c to the last digit. Like
 * vf_ssim.c, it uses 8x8 windows at every fourth sample instead of the paper's Gaussian windows.
 * The kernels of vf_ssim_cuda.cu sum the SSIM of all windows of each component, for up to
 * SSIM_MAX_BATCH pairs in a launch. The host divides by the number of windows, weights the
 * components by their size and writes the log.
 */

#include <math.h>

#include "libavutil/bprint.h"
#include "libavutil/dict.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cuda/dualinput.h"
#include "filters.h"
#include "sample_format.h"
#include "score_log.h"
#include "vf_ssim_cuda.h"

/// Minimum width and height of a component, the size of a window.
#define MIN_SIZE 8

/// SSIM of each component, and the mean of all, weighted by their sizes.
typedef struct SSIMScores {
    double component[SSIM_MAX_PLANES], all;
} SSIMScores;

/// Sums over all scored pairs. They survive a rebuild of the filter graph.
typedef struct SSIMTotal {
    uint64_t nb_compared;
    int nb_components;                  ///< number of components of the last pair
    SSIMScores sum;
} SSIMTotal;

typedef struct SSIMCUDAContext {
    CUDAPair pair;

    CUfunction ssim_8, ssim_16;
    CUdeviceptr state;                  ///< SSIMCUDAState[SSIM_MAX_BATCH]

    int width, height;                  ///< picture size of the batch
    SSIMCUDAParams params;
    CUfunction ssim;                    ///< ssim_8 or ssim_16, by the depth
    int nb_thread_blocks, nb_threads;   ///< thread blocks of a pair, and threads of each

    char *stats_file;
    int handed_over;                    ///< whether the filter of a rebuilt graph continues the log
    MetricOutput *output;
    SSIMTotal *total;                   ///< output->totals
} SSIMCUDAContext;

#define OFFSET(x) offsetof(SSIMCUDAContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption ssim_cuda_options[] = {
    METRIC_STATS_FILE("stats_file", OFFSET(stats_file), FLAGS),
    METRIC_STATS_FILE("f",          OFFSET(stats_file), FLAGS),
    REINIT_HAND_OVER(SSIMCUDAContext, handed_over),
    CUDA_QUEUE_OPTION(FLAGS),
    PAIR_SYNC_OPTIONS(SSIMCUDAContext, pair.sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(ssim_cuda);

CUDA_QUEUE_PTX(vf_ssim_cuda);
CUDA_QUEUE_CHECK_PARAMS(SSIMCUDAParams);

static const char component_name[] = "YUV";

/// Return the number of components to compare, without alpha.
static int count_components(const AVPixFmtDescriptor *desc)
{
    return FFMIN(desc->nb_components, SSIM_MAX_PLANES);
}

/// Compute width and height of each component.
static void component_sizes(int w[SSIM_MAX_PLANES], int h[SSIM_MAX_PLANES],
                            const AVPixFmtDescriptor *desc, int width, int height)
{
    for (int i = 0; i < SSIM_MAX_PLANES; i++) {
        w[i] = AV_CEIL_RSHIFT(width,  i ? desc->log2_chroma_w : 0);
        h[i] = AV_CEIL_RSHIFT(height, i ? desc->log2_chroma_h : 0);
    }
}

/**
 * Set the parameters that the pairs of a batch share.
 *
 * @return 0, or AVERROR(EINVAL) after a message if a component is too small
 */
static int configure_batch(AVFilterContext *ctx, const AVPixFmtDescriptor *desc,
                           int width, int height)
{
    SSIMCUDAContext *s = ctx->priv;
    SSIMCUDAParams *params = &s->params;
    const int depth = desc->comp[0].depth, sample_size = DIV_UP(depth, 8);
    const int nb_warps = sample_size > 1 ? SSIM_WARPS_16 : SSIM_WARPS_8;
    const int max = (1 << depth) - 1;
    int w[SSIM_MAX_PLANES], h[SSIM_MAX_PLANES];

    component_sizes(w, h, desc, width, height);
    params->nb_planes = 0;
    for (int i = 0; i < count_components(desc); i++) {
        const AVComponentDescriptor *comp = &desc->comp[i];
        SSIMCUDAPlane *plane = &params->plane[comp->plane];

        plane->bw = w[i] >> 2;
        plane->bh = h[i] >> 2;
        if (FFMIN(plane->bw, plane->bh) < MIN_SIZE / 4) {
            av_log(ctx, AV_LOG_ERROR, "%dx%d %s is too small for SSIM: each component must "
                   "have at least %dx%d samples.\n", width, height, desc->name, MIN_SIZE, MIN_SIZE);
            return AVERROR(EINVAL);
        }
        plane->nb_channels = comp->step / sample_size;
        plane->component[comp->offset / sample_size] = i;
        params->nb_planes = FFMAX(params->nb_planes, comp->plane + 1);
    }

    s->nb_thread_blocks = 0;
    for (int i = 0; i < params->nb_planes; i++) {
        SSIMCUDAPlane *plane = &params->plane[i];

        // with more than 8 bits, a thread block sums complete rows in order
        plane->nb_chunks   = sample_size > 1 ? 1 :
                             DIV_UP(plane->bw - 1, nb_warps * SSIM_WARP_WINDOWS);
        plane->first_block = s->nb_thread_blocks;
        s->nb_thread_blocks += plane->nb_chunks * DIV_UP(plane->bh - 1, SSIM_STRIP_ROWS);
    }
    s->nb_threads = nb_warps * 32;
    s->ssim       = sample_size > 1 ? s->ssim_16 : s->ssim_8;
    params->shift = desc->comp[0].shift;
    params->c1    = .01 * .01 * max * max * 64 + .5;
    params->c2    = .03 * .03 * max * max * 64 * 63 + .5;

    s->width  = width;
    s->height = height;
    return 0;
}

/// Add a pair to the batch; callback of the queue.
static int add_pair(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *ref)
{
    SSIMCUDAContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc = ff_cuda_queue_format(frame->hw_frames_ctx);
    const int width = picture_width(frame), height = picture_height(frame);
    SSIMCUDAPair *pair;
    int ret;

    if ((width != s->width || height != s->height) &&
        ((ret = ff_cuda_queue_flush(ctx)) < 0 ||
         (ret = configure_batch(ctx, desc, width, height)) < 0))
        return ret;

    pair = &s->params.pair[s->pair.queue.nb_batch];
    for (int i = 0; i < count_components(desc); i++) {
        const int plane = desc->comp[i].plane;

        pair->main[plane]       = ff_cuda_queue_plane(frame, i);
        pair->ref[plane]        = ff_cuda_queue_plane(ref, i);
        pair->main_pitch[plane] = frame->linesize[plane];
        pair->ref_pitch[plane]  = ref->linesize[plane];
    }
    pair->result = ff_cuda_queue_next_result(ctx);
    return 1;
}

/// Launch the kernel of a batch; callback of the queue.
static int launch(AVFilterContext *ctx)
{
    SSIMCUDAContext *s = ctx->priv;

    return ff_cuda_queue_launch(ctx, s->ssim, s->nb_thread_blocks, s->pair.queue.nb_batch,
                                s->nb_threads, 1, 0, &s->params);
}

/// Compute the scores of a frame from the sums over its windows.
static SSIMScores read_scores(const AVFrame *frame, const SSIMCUDAResult *result)
{
    const AVPixFmtDescriptor *desc = ff_cuda_queue_format(frame->hw_frames_ctx);
    const int nb_components = count_components(desc);
    SSIMScores scores = { 0 };
    int w[SSIM_MAX_PLANES], h[SSIM_MAX_PLANES], size = 0;

    component_sizes(w, h, desc, picture_width(frame), picture_height(frame));
    for (int i = 0; i < nb_components; i++)
        size += w[i] * h[i];
    for (int i = 0; i < nb_components; i++) {
        const int nb_windows = ((w[i] >> 2) - 1) * ((h[i] >> 2) - 1);

        scores.component[i] = ldexp(result->sum[i], -SSIM_FRAC_BITS) / nb_windows;
        scores.all += (double)h[i] * w[i] / size * scores.component[i];
    }
    return scores;
}

/// Convert SSIM to dB. The argument is a sum of SSIM values whose weights sum to weight.
static double decibel(double ssim, double weight)
{
    return fabs(weight - ssim) > 1e-9 ? 10. * log10(weight / (weight - ssim)) : INFINITY;
}

/// Set a metadata key to a value, rounded to single precision as in vf_ssim.c.
static int set_metadata(AVFrame *frame, const char *key, float value)
{
    return av_dict_set(&frame->metadata, key, METRIC_FIXED(6, value), 0);
}

/// Write the scores of a frame to its metadata and the log; callback of the queue.
static int report(AVFilterContext *ctx, AVFrame *frame, const void *result)
{
    static const char *const key[] = { "lavfi.ssim.Y", "lavfi.ssim.U", "lavfi.ssim.V" };
    SSIMCUDAContext *s = ctx->priv;
    SSIMScores scores;
    AVBPrint text;
    int ret;

    if (!result)
        return 0;
    scores = read_scores(frame, result);
    s->total->nb_compared++;
    s->total->nb_components = count_components(ff_cuda_queue_format(frame->hw_frames_ctx));
    s->total->sum.all += scores.all;
    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    av_bprintf(&text, "n:%"PRIu64" ", s->total->nb_compared);
    for (int i = 0; i < s->total->nb_components; i++) {
        s->total->sum.component[i] += scores.component[i];
        av_bprintf(&text, "%c:%s ", component_name[i], METRIC_FIXED(6, scores.component[i]));
        if ((ret = set_metadata(frame, key[i], scores.component[i])) < 0)
            return ret;
    }
    if ((ret = set_metadata(frame, "lavfi.ssim.All", scores.all)) < 0 ||
        (ret = set_metadata(frame, "lavfi.ssim.dB", decibel(scores.all, 1.))) < 0)
        return ret;
    av_bprintf(&text, "All:%s (%s)\n", METRIC_FIXED(6, scores.all),
               METRIC_FIXED(6, decibel(scores.all, 1.)));
    return s->stats_file ? ff_metric_write(&s->output->file[METRIC_STATS], ctx, &text, 0) : 0;
}

/// Print the means over all pairs, and the number of damaged frames.
static void print_summary(AVFilterContext *ctx)
{
    SSIMCUDAContext *s = ctx->priv;
    const MetricDamage *damage = s->output->damage;
    AVBPrint text;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    for (int i = 0; i < s->total->nb_components; i++)
        av_bprintf(&text, " %c:%s (%s)", component_name[i],
                   METRIC_FIXED(6, s->total->sum.component[i] / s->total->nb_compared),
                   METRIC_FIXED(6, decibel(s->total->sum.component[i], s->total->nb_compared)));
    av_log(ctx, AV_LOG_INFO, "SSIM%s All:%s (%s)\n", text.str,
           METRIC_FIXED(6, s->total->sum.all / s->total->nb_compared),
           METRIC_FIXED(6, decibel(s->total->sum.all, s->total->nb_compared)));
    if (damage[METRIC_MAIN].nb || damage[METRIC_REFERENCE].nb)
        av_log(ctx, AV_LOG_INFO, "damaged:%"PRIu64" reference_damaged:%"PRIu64"\n",
               damage[METRIC_MAIN].nb, damage[METRIC_REFERENCE].nb);
}

/// Allocate the state and configure the batch for the size of the link; callback of the queue.
static int setup(AVFilterContext *ctx)
{
    SSIMCUDAContext *s = ctx->priv;
    AVFilterLink *main = ctx->inputs[0];
    const AVPixFmtDescriptor *desc = ff_cuda_queue_format(ff_filter_link(main)->hw_frames_ctx);
    int ret = ff_cuda_queue_alloc(ctx, &s->state, SSIM_MAX_BATCH * sizeof(SSIMCUDAState));

    s->params.state = s->state;
    return ret < 0 ? ret : configure_batch(ctx, desc, main->w, main->h);
}

static const CUDAQueueKernel kernels[] = {
    { "ssim_8",  OFFSET(ssim_8)  },
    { "ssim_16", OFFSET(ssim_16) },
    { NULL }
};

static const CUDAQueueFilter filter = {
    .module      = CUDA_QUEUE_MODULE(vf_ssim_cuda, kernels),
    .result_size = sizeof(SSIMCUDAResult),
    .setup       = setup,
    .add         = add_pair,
    .launch      = launch,
    .report      = report,
};

static av_cold int init(AVFilterContext *ctx)
{
    SSIMCUDAContext *s = ctx->priv;
    const char *const path[METRIC_NB_FILES] = { s->stats_file };
    int ret;

    s->pair.queue.filter    = &filter;
    s->pair.sync.output     = &s->output;
    s->pair.queue.inputs.min_size = MIN_SIZE;
    s->pair.queue.max_batch = FFMIN(s->pair.queue.size, SSIM_MAX_BATCH);
    if ((ret = ff_metric_open(&s->output, ctx, "ssim", path, sizeof(*s->total))) < 0)
        return ret;
    s->total = s->output->totals;
    return 0;
}

static av_cold void uninit(AVFilterContext *ctx)
{
    SSIMCUDAContext *s = ctx->priv;

    ff_cuda_pair_uninit(ctx);
    if (!s->handed_over && s->total && s->total->nb_compared)
        print_summary(ctx);
    ff_metric_close(&s->output, ctx, s->handed_over);
}

const FFFilter ff_vf_ssim_cuda = {
    .p.name         = "ssim_cuda",
    .p.description  = NULL_IF_CONFIG_SMALL("Calculate the SSIM between two CUDA video streams."),
    .p.priv_class   = &ssim_cuda_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(SSIMCUDAContext),
    .init           = init,
    .activate       = ff_cuda_pair_activate,
    .uninit         = uninit,
    .process_command = ff_cuda_pair_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(ff_cuda_pair_output),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
