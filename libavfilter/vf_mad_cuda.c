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
 * Most Apparent Distortion on CUDA frames
 *
 * vf_mad.c describes the method. Both filters compute the same maps in single precision; scores
 * differ by rounding, since the transforms and the order of sums differ.
 *
 * Order of the kernels of a pair: load converts samples to planes; line kernels transform rows
 * and columns of the planes, apply the CSF and transform the lightness back; detect computes the
 * detection map. For each scale, line kernels compute the responses to the log-Gabor filters and
 * the moments of their cells, and compare adds the scale to the appearance map. pool sums both
 * squared maps. The host computes the score from these sums.
 *
 * The filters of a scale run together as long as their responses fit into MAX_RESPONSE bytes:
 * then one line kernel writes the responses to the L2 cache, and the next one reads them there.
 */

#include <math.h>

#include "libavutil/cuda_check.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cuda/fft.h"
#include "cuda/dualinput.h"
#include "filters.h"
#include "sample_format.h"
#include "mad.h"
#include "vf_mad_cuda.h"
#include "video.h"

/// Maximum size in bytes of the responses to the filters that run together.
#define MAX_RESPONSE (280 << 20)
/// Rows of planes and spectra begin at multiples of this number of elements.
#define ALIGN 32

/// Kernels that transform lines: those of rows, then those of columns.
enum LineKernel {
    PLANE_ROWS, LIGHTNESS_ROWS, RESPONSE_ROWS,
    PLANE_COLUMNS, RESPONSE_COLUMNS,
    NB_LINE_KERNELS
};

typedef struct MADCUDAContext {
    CUDAPair pair;
    MetricLog log;
    int output;                         ///< MADOutput

    CUfunction load_8, load_16, detect, detect_map, compare, pool, fill, appearance_map;
    CUfunction line_kernels[NB_LINE_KERNELS][FFT_NB_METHODS];
    enum FFTMethod row_method, column_method;

    CUdeviceptr buffer;                 ///< allocation that contains all device memory of a size
    CUdeviceptr lightness[PAIR_NB];     ///< lookup tables, see MADCUDAInput
    MADRange range[PAIR_NB];            ///< ranges for which these tables were computed
    size_t appearance_size;             ///< size of the appearance map in bytes

    MADCUDAParams params;
    CUfunction load;                    ///< load_8 or load_16, by the format of the pair
} MADCUDAContext;

#define OFFSET(x) offsetof(MADCUDAContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption mad_cuda_options[] = {
    METRIC_LOG_OPTIONS(MADCUDAContext, log, FLAGS),
    MAD_OUTPUT_OPTION(MADCUDAContext, output, FLAGS),
    CUDA_QUEUE_OPTION(FLAGS),
    PAIR_SYNC_OPTIONS(MADCUDAContext, pair.sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(mad_cuda);

CUDA_QUEUE_PTX(vf_mad_cuda);
CUDA_QUEUE_CHECK_PARAMS(MADCUDAParams);
CUDA_QUEUE_PTX(vf_mad_chirp_cuda);
CUDA_QUEUE_PTX(vf_mad_large_cuda);

// ---- kernels of a pair ----

/// Launch a kernel with one thread for each of w x h items, in thread blocks of block_w x block_h.
static int launch_kernel(AVFilterContext *ctx, CUfunction function, int w, int h,
                         int block_w, int block_h)
{
    MADCUDAContext *s = ctx->priv;

    return ff_cuda_queue_launch(ctx, function, DIV_UP(w, block_w), DIV_UP(h, block_h),
                                block_w, block_h, 0, &s->params);
}

/**
 * Launch a line kernel.
 *
 * @param nb        number of thread blocks in a layer, each for FFT_LANES lines or pairs of rows
 * @param nb_layers number of planes or responses
 */
static int launch_line_kernel(AVFilterContext *ctx, enum LineKernel kernel, int nb, int nb_layers)
{
    MADCUDAContext *s = ctx->priv;
    const int is_column = kernel >= PLANE_COLUMNS;
    const FFTPlan *plan = is_column ? &s->params.column_plan : &s->params.row_plan;
    const enum FFTMethod method = is_column ? s->column_method : s->row_method;
    const size_t shared = method == FFT_LARGE ? 0 : ff_fft_memory_size(plan);

    s->params.nb_blocks = nb;
    s->params.nb_layers = nb_layers;
    if (method == FFT_LARGE)
        nb = FFMIN(nb, FFT_SCRATCH_BLOCKS / nb_layers);
    return ff_cuda_queue_launch(ctx, s->line_kernels[kernel][method], nb, nb_layers,
                                plan->threads, 1, shared, &s->params);
}

/// Launch the kernels of the planes, their spectra and the detection map.
static int launch_detection(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;
    const MADCUDAParams *p = &s->params;
    const int nb_rows = DIV_UP(p->h, 2 * FFT_LANES), nb_columns = DIV_UP(p->w / 2 + 1, FFT_LANES);
    int ret;

    if ((ret = launch_kernel(ctx, s->load, p->w, p->h, MAD_LOAD_W, MAD_LOAD_H)) < 0 ||
        (ret = launch_line_kernel(ctx, PLANE_ROWS,     nb_rows,    MAD_PLANES)) < 0 ||
        (ret = launch_line_kernel(ctx, PLANE_COLUMNS,  nb_columns, MAD_PLANES)) < 0 ||
        (ret = launch_line_kernel(ctx, LIGHTNESS_ROWS, nb_rows,    MAD_PLANES - MAD_LIGHTNESS)) < 0)
        return ret;
    return launch_kernel(ctx, s->output == MAD_OUTPUT_DETECTION ? s->detect_map : s->detect,
                         p->nb_x, p->nb_y, MAD_DETECT_W, MAD_DETECT_H);
}

/// Launch the kernels of the appearance map, for nb_filters filters of a scale at once.
static int launch_appearance(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;
    MADCUDAParams *p  = &s->params;
    const int nb_responses = p->nb_filters * PAIR_NB, nb_rows = p->nb_y + MAD_BLOCK_CELLS - 1;
    int ret;

    ret = FF_CUDA_CHECK_DL(ctx, s->pair.queue.cu,
                           s->pair.queue.cu->cuMemsetD8Async(p->appearance, 0, s->appearance_size,
                                                             s->pair.queue.hwctx->stream));
    if (ret < 0)
        return ret;
    for (p->scale = 0; p->scale < MAD_SCALES; p->scale++) {
        const int nb_columns = DIV_UP(p->w, FFT_LANES) - p->passband[p->scale].skipped;

        for (p->orientation = 0; p->orientation < MAD_ORIENTATIONS; p->orientation += p->nb_filters)
            if ((ret = launch_line_kernel(ctx, RESPONSE_COLUMNS, nb_columns, nb_responses)) < 0 ||
                (ret = launch_line_kernel(ctx, RESPONSE_ROWS,    nb_rows,    nb_responses)) < 0)
                return ret;
        ret = launch_kernel(ctx, s->compare, p->nb_x, p->nb_y, MAD_BLOCKS_W, MAD_BLOCKS_H);
        if (ret < 0)
            return ret;
    }
    return 0;
}

/// Launch all kernels of the pair; callback of the queue.
static int launch(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;
    int ret;

    if ((ret = launch_detection(ctx)) < 0 || (ret = launch_appearance(ctx)) < 0)
        return ret;
    if (s->output == MAD_OUTPUT_APPEARANCE &&
        (ret = launch_kernel(ctx, s->appearance_map, s->params.w, s->params.h,
                             MAD_LOAD_W, MAD_LOAD_H)) < 0)
        return ret;
    return launch_kernel(ctx, s->pool, MAD_POOL_BLOCKS * MAD_POOL_THREADS, 1, MAD_POOL_THREADS, 1);
}

/// Score a frame whose result has arrived, or do nothing if data is NULL; callback of the queue.
static int report(AVFilterContext *ctx, AVFrame *frame, const void *data)
{
    MADCUDAContext *s = ctx->priv;
    const MADCUDAResult *result = data;

    if (!result)
        return 0;
    return ff_mad_score(&s->log, ctx, frame, s->pair.queue.n, result->hi, result->lo);
}

// ---- memory, plans and tables for a size ----

/// Upload a table of nb floats, and free it. Return AVERROR(ENOMEM) if it is NULL.
static int upload(AVFilterContext *ctx, CUdeviceptr dst, float *table, size_t nb)
{
    int ret = table ? ff_cuda_queue_upload(ctx, dst, table, nb * sizeof(*table)) : AVERROR(ENOMEM);

    av_free(table);
    return ret;
}

/// Upload the lightness table of an input.
static int upload_lightness(AVFilterContext *ctx, int input)
{
    MADCUDAContext *s = ctx->priv;
    const MADRange range = s->range[input];
    const int nb = s->params.input[input].white + 1;
    float *table = av_malloc_array(nb, sizeof(*table));

    for (int i = 0; table && i < nb; i++)
        table[i] = ff_mad_lightness(ff_mad_full_range(range, range.black + i));
    return upload(ctx, s->lightness[input], table, nb);
}

/// Upload the gains of the CSF.
static int upload_csf(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;
    const MADCUDAParams *p = &s->params;
    float *table = av_calloc(p->h * p->half_pitch, sizeof(*table));

    for (int r = 0; table && r < p->h; r++)
        for (int c = 0; c <= p->w / 2; c++)
            table[r * p->half_pitch + c] = p->norm * ff_mad_csf(r, c, p->h, p->w);
    return upload(ctx, p->csf, table, p->h * p->half_pitch);
}

/// Upload radial distance and angle of each frequency, see MADCUDAParams.
static int upload_polar(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;
    const MADCUDAParams *p = &s->params;
    const size_t nb = 2 * p->half_pitch * (p->h / 2 + 1);
    float *table = av_calloc(nb, sizeof(*table));

    for (int r = 0; table && r <= p->h / 2; r++)
        for (int c = 0; c <= p->w / 2; c++) {
            float *polar = &table[2 * (r * p->half_pitch + c)];
            const double angle = fabs(ff_mad_angle(r, c, p->h, p->w));

            polar[0] = ff_mad_radial_distance(0, r, c, p->h, p->w);
            polar[1] = FFMIN(angle, MAD_FULL_TURN / 2 - angle);
        }
    return upload(ctx, p->polar, table, nb);
}

/// Upload the table of a plan.
static int upload_fft_table(AVFilterContext *ctx, CUdeviceptr dst, const FFTPlan *plan)
{
    const size_t nb = ff_fft_table_size(plan);
    float *table = av_malloc_array(nb, 2 * sizeof(*table));
    int ret;

    if (table && (ret = ff_fft_table(plan, (float (*)[2])table)) < 0) {
        av_free(table);
        return ret;
    }
    return upload(ctx, dst, table, 2 * nb);
}

/// Set the parameters that depend on the size of the pictures.
static void set_size(AVFilterContext *ctx, int width, int height)
{
    MADCUDAContext *s = ctx->priv;
    MADCUDAParams *p  = &s->params;
    const int border  = MAD_BORDER_BEGIN + MAD_BORDER_END;
    size_t response;

    p->w          = width;
    p->h          = height;
    p->pitch      = FFALIGN(width, ALIGN);
    p->half_pitch = FFALIGN(width / 2 + 1, ALIGN);
    p->norm       = 1. / ((double)width * height);
    p->nb_x       = DIV_UP(width  - border, MAD_STEP);
    p->nb_y       = DIV_UP(height - border, MAD_STEP);
    for (p->full_x = p->nb_x; mad_nb_sub_blocks(MAD_FIRST_CELL + p->full_x - 1, width) < 2; )
        p->full_x--;
    for (p->full_y = p->nb_y; mad_nb_sub_blocks(MAD_FIRST_CELL + p->full_y - 1, height) < 2; )
        p->full_y--;
    for (int i = 0; i < MAD_SCALES; i++) {
        const int nb_cols = ff_mad_passband_columns(i, width), blocks = DIV_UP(nb_cols, FFT_LANES);

        p->radial_step[i] = ff_mad_radial_distance(i, 1, 1, height, width) -
                            ff_mad_radial_distance(0, 1, 1, height, width);
        p->weight[i]      = ff_mad_scale_weight(i);
        p->passband[i]    = (MADCUDAPassband){
            .blocks = blocks, .skipped = FFMAX((width - nb_cols) / FFT_LANES - blocks, 0),
        };
    }

    s->appearance_size = (size_t)p->nb_x * p->nb_y * sizeof(float);
    response = (size_t)PAIR_NB * p->pitch * height * 2 * sizeof(float);
    p->nb_filters = MAD_ORIENTATIONS;
    while (p->nb_filters > 1 && p->nb_filters * response > MAX_RESPONSE)
        p->nb_filters /= 2;
}

/// Allocate the device memory of a size, and set the pointers to its parts.
static int alloc_memory(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;
    MADCUDAParams *p  = &s->params;
    const AVBufferRef *frames = ff_filter_link(ctx->inputs[0])->hw_frames_ctx;
    const int depth   = ff_cuda_queue_format(frames)->comp[0].depth;
    const size_t rows = p->h, complex = 2 * sizeof(float);
    const size_t nb_cells = (size_t)(p->nb_x + MAD_BLOCK_CELLS - 1) *
                                    (p->nb_y + MAD_BLOCK_CELLS - 1) * MAD_ORIENTATIONS * PAIR_NB;
    const size_t response = rows * p->nb_filters * PAIR_NB * p->pitch * complex;
    const size_t planes   = rows * MAD_PLANES * p->pitch * sizeof(float);
    const struct { CUdeviceptr *ptr; size_t size; } part[] = {
        { &p->response,                FFMAX(response, planes) },
        { &p->spectrum,                rows * MAD_PLANES * p->half_pitch * complex },
        { &p->csf,                     rows * p->half_pitch * sizeof(float) },
        { &p->polar,                   (size_t)p->half_pitch * (p->h / 2 + 1) * complex },
        { &p->column_table,            ff_fft_table_size(&p->column_plan) * complex },
        { &p->row_table,               ff_fft_table_size(&p->row_plan)    * complex },
        { &p->cells,                   nb_cells * 4 * sizeof(float) },
        { &p->detection,               s->appearance_size },
        { &p->appearance,              s->appearance_size },
        { &s->lightness[0],            sizeof(float) << depth },
        { &s->lightness[1],            sizeof(float) << depth },
        { &p->first_value,             PAIR_NB * sizeof(float) },
        { &p->partial,                 MAD_POOL_BLOCKS * sizeof(MADCUDAResult) },
        { &p->nb_done,                 sizeof(unsigned) },
        { &p->scratch,                 FFT_SCRATCH_BLOCKS * p->scratch_size * complex },
    };
    size_t size = 0;
    int ret;

    for (int i = 0; i < FF_ARRAY_ELEMS(part); i++)
        size += FFALIGN(part[i].size, 256);
    // zeroed, since padding is transformed too
    ret = ff_cuda_queue_alloc(ctx, &s->buffer, size);
    if (ret < 0)
        return ret;
    av_log(ctx, AV_LOG_VERBOSE, "%dx%d takes %.1f MiB of GPU memory.\n",
           p->w, p->h, size / 1048576.);
    for (int i = FF_ARRAY_ELEMS(part) - 1; i >= 0; i--) {
        size -= FFALIGN(part[i].size, 256);
        *part[i].ptr = s->buffer + size;
    }
    // the planes are no longer needed when the first response is written
    p->plane = p->response;
    return 0;
}

/// Line kernels of a method, whose names in the module end with a suffix.
#define LINE_KERNELS(method, suffix)                                                      \
    { "mad_plane_rows" suffix,       OFFSET(line_kernels[PLANE_ROWS][method])       },    \
    { "mad_plane_columns" suffix,    OFFSET(line_kernels[PLANE_COLUMNS][method])    },    \
    { "mad_lightness_rows" suffix,   OFFSET(line_kernels[LIGHTNESS_ROWS][method])   },    \
    { "mad_response_columns" suffix, OFFSET(line_kernels[RESPONSE_COLUMNS][method]) },    \
    { "mad_response_rows" suffix,    OFFSET(line_kernels[RESPONSE_ROWS][method])    }

static const CUDAQueueKernel chirp_kernels[] = { LINE_KERNELS(FFT_CHIRP, "_chirp"), { NULL } };
static const CUDAQueueKernel large_kernels[] = { LINE_KERNELS(FFT_LARGE, "_large"), { NULL } };

/// Load the line kernels of a method unless they are loaded. Drivers take seconds to compile them.
static int load_line_kernels(AVFilterContext *ctx, enum FFTMethod method)
{
    static const CUDAQueueModule modules[] = {
        [FFT_CHIRP] = CUDA_QUEUE_MODULE(vf_mad_chirp_cuda, chirp_kernels),
        [FFT_LARGE] = CUDA_QUEUE_MODULE(vf_mad_large_cuda, large_kernels),
    };
    MADCUDAContext *s = ctx->priv;

    return s->line_kernels[PLANE_ROWS][method] ? 0 : ff_cuda_queue_load(ctx, &modules[method]);
}

/**
 * Plan the transforms of lines of a length by the fastest method for which the GPU has enough
 * shared memory, and load its kernels.
 *
 * @param method receives the method
 * @param first  first line kernel that will use the plan
 * @param end    line kernel after the last one that will use it
 */
static int plan_fft(AVFilterContext *ctx, FFTPlan *plan, enum FFTMethod *method, int length,
                      int first, int end)
{
    MADCUDAContext *s = ctx->priv;

    for (*method = FFT_DIRECT; *method < FFT_LARGE; ++*method) {
        int possible = ff_fft_plan(plan, length, *method), ret;

        if (!possible)
            continue;
        ret = load_line_kernels(ctx, *method);
        if (ret < 0)
            return ret;
        for (int i = first; i < end && possible; i++)
            possible = ff_cuda_queue_allow_shared(ctx, s->line_kernels[i][*method],
                                                  ff_fft_memory_size(plan));
        if (possible)
            return 0;
    }
    ff_fft_plan(plan, length, FFT_LARGE);
    return load_line_kernels(ctx, FFT_LARGE);
}

/// Plan the transforms of rows and columns.
static int init_fft_plans(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;
    MADCUDAParams *p  = &s->params;
    int size = 0, ret;

    if ((ret = plan_fft(ctx, &p->row_plan, &s->row_method, p->w, 0, PLANE_COLUMNS)) < 0 ||
        (ret = plan_fft(ctx, &p->column_plan, &s->column_method, p->h, PLANE_COLUMNS,
                        NB_LINE_KERNELS)) < 0)
        return ret;
    if (s->row_method == FFT_LARGE)
        size = p->row_plan.size;
    if (s->column_method == FFT_LARGE)
        size = FFMAX(size, p->column_plan.size);
    p->scratch_size = (int64_t)FFT_SCRATCH_BUFFERS * FFT_LANES * size;
    return 0;
}

/// Prepare for pictures of a size. It differs from that of the link for cropped frames.
static int prepare(AVFilterContext *ctx, int width, int height)
{
    MADCUDAContext *s = ctx->priv;
    int ret;

    if (width == s->params.w && height == s->params.h)
        return 0;
    set_size(ctx, width, height);
    if ((ret = init_fft_plans(ctx)) < 0 ||
        (ret = alloc_memory(ctx))   < 0 ||
        (ret = upload_csf(ctx))     < 0 ||
        (ret = upload_polar(ctx))   < 0 ||
        (ret = upload_fft_table(ctx, s->params.column_table, &s->params.column_plan)) < 0 ||
        (ret = upload_fft_table(ctx, s->params.row_table,    &s->params.row_plan))    < 0)
        return ret;
    for (int i = 0; i < PAIR_NB; i++)
        s->range[i] = (MADRange){ 0 };
    return 0;
}

// ---- the filter ----

/// Set address and range of an input frame.
static int set_input(AVFilterContext *ctx, int i, const AVFrame *frame,
                     const AVPixFmtDescriptor *desc)
{
    MADCUDAContext *s    = ctx->priv;
    MADCUDAInput *input  = &s->params.input[i];
    const MADRange range = ff_mad_range(frame, desc);
    const int range_changed = range.scale != s->range[i].scale;

    input->src       = ff_cuda_queue_plane(frame, 0);
    input->pitch     = frame->linesize[0];
    input->black     = range.black;
    input->white     = lrint(255 / range.scale);
    input->lightness = s->lightness[i];
    s->range[i]      = range;
    return range_changed ? upload_lightness(ctx, i) : 0;
}

/**
 * Allocate a black frame for the map, with the properties of the main frame; callback of the
 * queue.
 *
 * @param output receives the frame, also after an error; unchanged if output=main
 */
static int replace(AVFilterContext *ctx, const AVFrame *frame, AVFrame **output)
{
    MADCUDAContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc;
    AVFrame *map;
    int ret = 0;

    if (s->output == MAD_OUTPUT_MAIN)
        return 0;
    map = *output = ff_get_video_buffer(ctx->outputs[0], frame->width, frame->height);
    if (!map || av_frame_copy_props(map, frame) < 0)
        return AVERROR(ENOMEM);
    desc = ff_cuda_queue_format(map->hw_frames_ctx);
    // frames of the pool may be larger than a cropped one
    map->width  = frame->width;
    map->height = frame->height;
    s->params.map       = ff_cuda_queue_plane(map, 0);
    s->params.map_pitch = map->linesize[0];
    for (int i = 0; i < desc->nb_components && ret >= 0; i++) {
        const AVComponentDescriptor *comp = &desc->comp[i];
        const int rows   = AV_CEIL_RSHIFT(map->height, i == 1 || i == 2 ? desc->log2_chroma_h : 0);
        const int sample = (i == 0 ? ff_mad_range(frame, desc).black :
                            i == 3 ? (1 << comp->depth) - 1 : 1 << (comp->depth - 1)) << comp->shift;
        MADCUDAFill fill = { (CUdeviceptr)map->data[comp->plane],
                             map->linesize[comp->plane] / 2 * (int64_t)rows,
                             comp->depth > 8 ? sample : sample * 0x101 };

        ret = ff_cuda_queue_launch(ctx, s->fill, DIV_UP(fill.nb_words, MAD_POOL_THREADS), 1,
                                   MAD_POOL_THREADS, 1, 0, &fill);
    }
    return ret;
}

/// Set the parameters of a pair, a batch of its own; callback of the queue.
static int add_pair(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *ref)
{
    MADCUDAContext *s = ctx->priv;
    const AVFrame *frames[PAIR_NB] = { [PAIR_REFERENCE] = ref, [PAIR_MAIN] = frame };
    const AVPixFmtDescriptor *desc    = ff_cuda_queue_format(frame->hw_frames_ctx);
    MADCUDAParams *p = &s->params;
    int ret = prepare(ctx, picture_width(frame), picture_height(frame));

    s->log.time_base = s->pair.sync.fs.time_base;
    if (ret < 0)
        return ret;
    for (int i = 0; i < PAIR_NB; i++) {
        ret = set_input(ctx, i, frames[i], desc);
        if (ret < 0)
            return ret;
    }
    p->ref_step   = s->range[PAIR_REFERENCE].scale;
    for (int i = 0; i < PAIR_NB; i++)
        p->input[i].scale = s->range[i].scale / p->ref_step;
    p->lmse_scale = p->ref_step * p->ref_step / (MAD_BLOCK * MAD_BLOCK);
    p->shift      = desc->comp[0].shift;
    p->mask       = (1 << desc->comp[0].depth) - 1;
    p->result     = ff_cuda_queue_next_result(ctx);
    s->load       = desc->comp[0].depth > 8 ? s->load_16 : s->load_8;
    return 1;
}

/// Prepare for the size of the link; callback of the queue.
static int setup(AVFilterContext *ctx)
{
    return prepare(ctx, ctx->inputs[0]->w, ctx->inputs[0]->h);
}

static const CUDAQueueKernel kernels[] = {
    { "mad_load_8",  OFFSET(load_8)  },
    { "mad_load_16", OFFSET(load_16) },
    { "mad_detect",  OFFSET(detect)  },
    { "mad_compare", OFFSET(compare) },
    { "mad_pool",    OFFSET(pool)    },
    { "mad_fill",    OFFSET(fill)    },
    { "mad_detect_map",     OFFSET(detect_map)     },
    { "mad_appearance_map", OFFSET(appearance_map) },
    LINE_KERNELS(FFT_DIRECT, ""),
    { NULL }
};

static const CUDAQueueFilter filter = {
    .module      = CUDA_QUEUE_MODULE(vf_mad_cuda, kernels),
    .result_size = sizeof(MADCUDAResult),
    .setup       = setup,
    .replace     = replace,
    .add         = add_pair,
    .launch      = launch,
    .report      = report,
};

static av_cold int init(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;

    s->pair.queue.filter    = &filter;
    s->pair.queue.inputs.min_size     = MAD_MIN_SIZE;
    s->pair.queue.inputs.allow_mixed_ranges = 1;
    s->pair.sync.output     = &s->log.output;
    s->pair.queue.max_batch = 1;
    return ff_mad_init(&s->log, ctx, &s->pair.queue.nb_frames);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    MADCUDAContext *s = ctx->priv;

    ff_cuda_pair_uninit(ctx);
    ff_metric_uninit(&s->log, ctx, s->pair.queue.nb_frames, s->pair.queue.eof == AVERROR_EOF);
}

const FFFilter ff_vf_mad_cuda = {
    .p.name         = "mad_cuda",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Score quality against a reference (Most Apparent Distortion) "
                             "on CUDA frames."),
    .p.priv_class   = &mad_cuda_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(MADCUDAContext),
    .init           = init,
    .activate       = ff_cuda_pair_activate,
    .uninit         = uninit,
    .process_command = ff_cuda_pair_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(ff_cuda_pair_output),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
