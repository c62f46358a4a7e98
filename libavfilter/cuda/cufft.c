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

#include "libavutil/error.h"
#include "libavutil/hwcontext_cuda_internal.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"

#include "cufft.h"

/// Of the CUDA toolkits 13, 12 and 11.
#if defined(_WIN32) || defined(__CYGWIN__)
#define LIBRARY_NAMES "cufft64_12.dll", "cufft64_11.dll", "cufft64_10.dll"
#define LIBRARY_PATH  "PATH"
#else
#define LIBRARY_NAMES "libcufft.so.12", "libcufft.so.11", "libcufft.so.10"
#define LIBRARY_PATH  "LD_LIBRARY_PATH"
#endif

#define INVERSE 1

int ff_cufft_load(CUFFT *s, void *logctx)
{
    static const char *const names[] = { LIBRARY_NAMES };
    FFNV_LIB_HANDLE lib = NULL;
    int i;

    for (i = 0; i < FF_ARRAY_ELEMS(names) && !lib; i++)
        lib = FFNV_LOAD_FUNC(names[i]);
    if (!lib) {
        av_log(logctx, AV_LOG_ERROR, "cuFFT is not there: %s cannot be loaded, nor older ones. "
               "Install it from the CUDA toolkit of your driver (package libcufft-13-0, "
               "libcufft-12-9, or the like), and if it is in no usual place, set "
               LIBRARY_PATH " to its folder; or use the filter's CPU form.\n", names[0]);
        return AVERROR(ENOSYS);
    }
    s->Create            = FFNV_SYM_FUNC(lib, "cufftCreate");
    s->Destroy           = FFNV_SYM_FUNC(lib, "cufftDestroy");
    s->SetAutoAllocation = FFNV_SYM_FUNC(lib, "cufftSetAutoAllocation");
    s->MakePlanMany      = FFNV_SYM_FUNC(lib, "cufftMakePlanMany");
    s->SetWorkArea       = FFNV_SYM_FUNC(lib, "cufftSetWorkArea");
    s->SetStream         = FFNV_SYM_FUNC(lib, "cufftSetStream");
    s->ExecR2C           = FFNV_SYM_FUNC(lib, "cufftExecR2C");
    s->ExecC2R           = FFNV_SYM_FUNC(lib, "cufftExecC2R");
    s->ExecC2C           = FFNV_SYM_FUNC(lib, "cufftExecC2C");
    if (!s->Create || !s->Destroy || !s->SetAutoAllocation || !s->MakePlanMany ||
        !s->SetWorkArea || !s->SetStream || !s->ExecR2C || !s->ExecC2R || !s->ExecC2C) {
        av_log(logctx, AV_LOG_ERROR, "%s is not cuFFT, or a broken one: install it again, or "
               "use the filter's CPU form.\n", names[i - 1]);
        return AVERROR(ENOSYS);
    }
    s->name = names[i - 1];
    return 0;
}

static int check(void *logctx, int status, const char *what)
{
    static const char *const texts[] = {
        [1]  = "invalid plan",        [2]  = "out of memory",       [4] = "invalid value",
        [5]  = "internal error",      [6]  = "it failed on the GPU", [7] = "setup failed",
        [8]  = "invalid size",        [11] = "invalid device",      [14] = "not implemented",
    };

    if (!status)
        return 0;
    av_log(logctx, AV_LOG_ERROR, "cuFFT: %s failed with %d: %s\n", what, status,
           status < FF_ARRAY_ELEMS(texts) && texts[status] ? texts[status] : "unknown");
    return status == 2 ? AVERROR(ENOMEM) : AVERROR_EXTERNAL;
}

#define CHECK_CUFFT(call) check(logctx, s->call, "cufft" #call)

int ff_cufft_plan(const CUFFT *s, void *logctx, CUFFTPlan *plan, CUstream stream,
                  enum CUFFTType type, int rows, int columns, CUFFTLayout in,
                  CUFFTLayout out, int batch, size_t *work_size)
{
    int size[]     = { rows, columns };
    int in_size[]  = { rows, in.pitch }, out_size[] = { rows, out.pitch };
    size_t work    = 0;
    int ret;

    ret = CHECK_CUFFT(Create(&plan->handle));
    if (ret < 0)
        return ret;
    plan->made = 1;
    plan->type = type;
    if ((ret = CHECK_CUFFT(SetAutoAllocation(plan->handle, 0))) < 0 ||
        (ret = CHECK_CUFFT(MakePlanMany(plan->handle, 2, size, in_size, 1, in.distance,
                                        out_size, 1, out.distance, type, batch, &work))) < 0)
        return ret;
    *work_size = FFMAX(*work_size, work);
    return CHECK_CUFFT(SetStream(plan->handle, stream));
}

int ff_cufft_set_work(const CUFFT *s, void *logctx, const CUFFTPlan *plan, CUdeviceptr work)
{
    return CHECK_CUFFT(SetWorkArea(plan->handle, (void *)work));
}

int ff_cufft_exec(const CUFFT *s, void *logctx, const CUFFTPlan *plan, CUdeviceptr in,
                  CUdeviceptr out)
{
    void *src = (void *)in, *dst = (void *)out;

    switch (plan->type) {
    case CUFFT_R2C: return CHECK_CUFFT(ExecR2C(plan->handle, src, dst));
    case CUFFT_C2R: return CHECK_CUFFT(ExecC2R(plan->handle, src, dst));
    default:        return CHECK_CUFFT(ExecC2C(plan->handle, src, dst, INVERSE));
    }
}

void ff_cufft_free(const CUFFT *s, void *logctx, CUFFTPlan *plan)
{
    if (plan->made)
        CHECK_CUFFT(Destroy(plan->handle));
    plan->made = 0;
}
