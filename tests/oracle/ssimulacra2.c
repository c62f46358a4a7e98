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
 * SSIMULACRA 2.1 in double precision, as its formula is published: with sRGB's power function, cube roots by
 * cbrt(), direct sums of the Gaussian's taps and the SSIM map by variances and covariance. It shares no code
 * with the filters.
 *
 * Usage: ssimulacra2 VARIANT TRANSFER WIDTHxHEIGHT ENCODE-PICTURE... REFERENCE-PICTURE..., where a picture is
 * FILE FORMAT MATRIX RANGE LOCATION: raw planes of the first frame of FILE, FORMAT is 420, 422, 444, rgb (planes
 * G, B, R) or gray, and its depth after a colon; MATRIX is a name of those below, RANGE is tv or pc, and
 * LOCATION is horizontal and vertical position in halves of a luma sample from the first of two: 00, 01, 11...
 * Prints the score.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCALES = 6, RADIUS = 4 };

typedef struct Picture {
    int w, h;
    double *plane[3];
} Picture;

static int vszip, gamma24;

static void *need(void *pointer, const char *message)
{
    if (!pointer) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    return pointer;
}

static double *new_plane(int w, int h)
{
    return need(calloc((size_t)w * h, sizeof(double)), "out of memory");
}

static Picture new_picture(int w, int h)
{
    Picture p = { .w = w, .h = h };

    for (int i = 0; i < 3; i++)
        p.plane[i] = new_plane(w, h);
    return p;
}

static void free_picture(Picture *p)
{
    for (int i = 0; i < 3; i++)
        free(p->plane[i]);
}

// ---- input ----

/// Read a plane of integers, little endian.
static double *read_plane(FILE *file, int w, int h, int depth)
{
    double *plane = new_plane(w, h);

    for (size_t i = 0; i < (size_t)w * h; i++) {
        int value = fgetc(file);

        if (depth > 8)
            value |= fgetc(file) << 8;
        plane[i] = value & ((1 << depth) - 1);
    }
    return plane;
}

/// Keys' cubic convolution kernel with a = -0.5.
static double catmull_rom(double x)
{
    x = fabs(x);
    return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 :
           x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/// Interpolate n samples at a position; the samples are mirrored half a sample beyond the first and last one.
static double interpolate(const double *src, ptrdiff_t stride, int n, double position)
{
    double sum = 0;

    for (int i = floor(position) - 2; i <= floor(position) + 3; i++) {
        int from = i;

        while (from < 0 || from >= n)
            from = from < 0 ? -1 - from : 2 * n - 1 - from;
        sum += catmull_rom(position - i) * src[from * stride];
    }
    return sum;
}

/// Interpolate chroma to the size of luma.
static double *upsample(double *src, int w, int h, int sub_x, int sub_y, int location_x, int location_y)
{
    const int cw = sub_x ? (w + 1) / 2 : w, ch = sub_y ? (h + 1) / 2 : h;
    double *rows = new_plane(cw, h), *dst = new_plane(w, h);

    for (int y = 0; y < h; y++)
        for (int x = 0; x < cw; x++)
            rows[(size_t)y * cw + x] =
                interpolate(src + x, cw, ch, sub_y ? (y - location_y / 2.) / 2 : y);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            dst[(size_t)y * w + x] = interpolate(rows + (size_t)y * cw, 1, cw,
                                                 sub_x ? (x - location_x / 2.) / 2 : x);
    free(rows);
    free(src);
    return dst;
}

static double to_linear(double x)
{
    x = x < 0 ? 0 : x > 1.5 ? 1.5 : x;
    return gamma24 ? pow(x, 2.4) : x > 0.04045 ? pow((x + 0.055) / 1.055, 2.4) : x / 12.92;
}

/// Read a picture as linear RGB. @param arg file, format, matrix, range, location
static Picture read_picture(int w, int h, char *const arg[5])
{
    static const struct {
        const char *name;
        double kr, kb;
    } matrix[] = {
        { "bt709",     0.2126, 0.0722 }, { "fcc",       0.30,   0.11   },
        { "bt470bg",   0.299,  0.114  }, { "smpte170m", 0.299,  0.114  },
        { "smpte240m", 0.212,  0.087  }, { "bt2020nc",  0.2627, 0.0593 },
    };
    FILE *file     = need(fopen(arg[0], "rb"), "no file");
    const int full = !strcmp(arg[3], "pc"), is_rgb = !strncmp(arg[1], "rgb", 3);
    const int gray = !strncmp(arg[1], "gray", 4);
    const int sub_x = !strncmp(arg[1], "42", 2), sub_y = !strncmp(arg[1], "420", 3);
    const int depth = atoi(strchr(arg[1], ':') + 1), max = (1 << depth) - 1, one = 1 << (depth - 8);
    Picture out = { .w = w, .h = h };
    double kr = 0, kb = 0;

    for (size_t i = 0; i < sizeof(matrix) / sizeof(*matrix); i++)
        if (!strcmp(arg[2], matrix[i].name)) {
            kr = matrix[i].kr;
            kb = matrix[i].kb;
        }
    for (int i = 0; i < (gray ? 1 : 3); i++) {
        const int sub_w = i && sub_x, sub_h = i && sub_y;

        out.plane[i] = read_plane(file, sub_w ? (w + 1) / 2 : w, sub_h ? (h + 1) / 2 : h, depth);
        if (sub_w || sub_h)
            out.plane[i] = upsample(out.plane[i], w, h, sub_w, sub_h, arg[4][0] - '0', arg[4][1] - '0');
    }
    need(feof(file) ? NULL : file, "the file is too short");
    fclose(file);
    for (int i = 1; i < 3 && gray; i++)
        out.plane[i] = new_plane(w, h);
    for (size_t i = 0; i < (size_t)w * h; i++) {
        double a[3], rgb[3];

        for (int j = 0; j < 3; j++)
            a[j] = out.plane[j][i];
        if (is_rgb || gray) {
            const double black = full ? 0 : 16 * one, range = full ? max : 219 * one;

            for (int j = 0; j < 3; j++)
                rgb[j] = (a[gray ? 0 : (j + 2) % 3] - black) / range;
        } else {
            const double y = full ? a[0] / max : (a[0] - 16 * one) / (219 * one);
            const double u = (a[1] - 128 * one) / (full ? max : 224 * one);
            const double v = (a[2] - 128 * one) / (full ? max : 224 * one);

            rgb[0] = y + 2 * (1 - kr) * v;
            rgb[2] = y + 2 * (1 - kb) * u;
            rgb[1] = (y - kr * rgb[0] - kb * rgb[2]) / (1 - kr - kb);
        }
        for (int j = 0; j < 3; j++)
            out.plane[j][i] = to_linear(rgb[j]);
    }
    return out;
}

// ---- formula ----

static Picture halve(const Picture *p)
{
    Picture out = new_picture((p->w + 1) / 2, (p->h + 1) / 2);

    for (int i = 0; i < 3; i++)
        for (int y = 0; y < out.h; y++)
            for (int x = 0; x < out.w; x++) {
                const int x2 = 2 * x + 1 < p->w ? 2 * x + 1 : 2 * x;
                const double *a = p->plane[i] + (size_t)2 * y * p->w;
                const double *b = 2 * y + 1 < p->h ? a + p->w : a;

                out.plane[i][(size_t)y * out.w + x] = (a[2 * x] + a[x2] + b[2 * x] + b[x2]) / 4;
            }
    return out;
}

static Picture to_xyb(const Picture *p)
{
    const double bias = 0.0037930732552754493;
    Picture out = new_picture(p->w, p->h);

    for (size_t i = 0; i < (size_t)p->w * p->h; i++) {
        const double r = p->plane[0][i], g = p->plane[1][i], b = p->plane[2][i];
        const double l = cbrt(0.30 * r + (1 - 0.078 - 0.30) * g + 0.078 * b + bias) - cbrt(bias);
        const double m = cbrt(0.23 * r + (1 - 0.078 - 0.23) * g + 0.078 * b + bias) - cbrt(bias);
        const double s = cbrt(0.24342268924547819 * r + 0.20476744424496821 * g +
                              (1 - 0.24342268924547819 - 0.20476744424496821) * b + bias) - cbrt(bias);

        out.plane[0][i] = (l - m) / 2 * 14 + 0.42;
        out.plane[1][i] = (l + m) / 2 + 0.01;
        out.plane[2][i] = s - (l + m) / 2 + 0.55;
    }
    return out;
}

/// Filter n samples of a row or column.
static void blur_line(double *dst, const double *src, ptrdiff_t stride, int n)
{
    static const double reference[RADIUS + 1] = {
        0.26462110548819834, 0.21292859201042202, 0.10933537277746015, 0.036011114658364252,
        0.0094143678096536288
    };
    double tap[RADIUS + 1], sum = 0;

    for (int k = 0; k <= RADIUS; k++) {
        tap[k] = exp(-k * k / (2 * 1.5 * 1.5));
        sum   += k ? 2 * tap[k] : tap[k];
    }
    for (int k = 0; k <= RADIUS; k++)
        tap[k] = vszip ? tap[k] / sum : reference[k];
    for (int i = 0; i < n; i++) {
        double value = 0;

        for (int k = -RADIUS; k <= RADIUS; k++) {
            int from = i + k;

            if (!vszip && (from < 0 || from >= n))
                continue;
            // mirrored at the first sample; vszip mirrors the end at the sample itself
            if (from < 0)
                from = -from < n ? -from : n - 1;
            else if (from >= n)
                from = from - (n - 1) < i ? i - (from - (n - 1)) : 0;
            value += tap[abs(k)] * src[from * stride];
        }
        dst[i * stride] = value;
    }
}

static double *blur(double *src, int w, int h)
{
    double *rows = new_plane(w, h), *dst = new_plane(w, h);

    for (int y = 0; y < h; y++)
        blur_line(rows + (size_t)y * w, src + (size_t)y * w, 1, w);
    for (int x = 0; x < w; x++)
        blur_line(dst + x, rows + x, w, h);
    free(rows);
    return dst;
}

static double *product(const double *a, const double *b, int w, int h)
{
    double *dst = new_plane(w, h);

    for (size_t i = 0; i < (size_t)w * h; i++)
        dst[i] = a[i] * b[i];
    return dst;
}

static double *blurred_product(const double *a, const double *b, int w, int h)
{
    double *src = product(a, b, w, h), *dst = blur(src, w, h);

    free(src);
    return dst;
}

/// Compute the norms of a channel: mean and 4-norm of SSIM, artifacts and detail loss. @param x1 the source
static void compute_norms(double norm[2][3], double *x1, double *x2, int w, int h)
{
    const double c2 = 0.0009;
    const size_t n = (size_t)w * h;
    double *mu1 = blur(x1, w, h), *mu2 = blur(x2, w, h);
    double *s11 = blurred_product(x1, x1, w, h), *s22 = blurred_product(x2, x2, w, h);
    double *s12 = blurred_product(x1, x2, w, h);

    memset(norm, 0, 2 * sizeof(*norm));
    for (size_t i = 0; i < n; i++) {
        const double num_m = 1 - (mu1[i] - mu2[i]) * (mu1[i] - mu2[i]);
        const double num_s = 2 * (s12[i] - mu1[i] * mu2[i]) + c2;
        const double den_s = (s11[i] - mu1[i] * mu1[i]) + (s22[i] - mu2[i] * mu2[i]) + c2;
        const double edge = (1 + fabs(x2[i] - mu2[i])) / (1 + fabs(x1[i] - mu1[i])) - 1;
        const double map[3] = { fmax(1 - num_m * num_s / den_s, 0), fmax(edge, 0), fmax(-edge, 0) };

        for (int j = 0; j < 3; j++) {
            norm[0][j] += map[j];
            norm[1][j] += map[j] * map[j] * map[j] * map[j];
        }
    }
    for (int j = 0; j < 3; j++) {
        norm[0][j] /= n;
        norm[1][j]  = sqrt(sqrt(norm[1][j] / n));
    }
    free(mu1);
    free(mu2);
    free(s11);
    free(s22);
    free(s12);
}

/// Weights of https://github.com/cloudinary/ssimulacra2, BSD 3-clause, (c) Jon Sneyers, Cloudinary
static const double weight[] = {
    0, 0.0007376606707406586, 0,
    0, 0.0007793481682867309, 0,
    0, 0.0004371155730107379, 0,
    1.1041726426657346, 0.00066284834129271, 0.00015231632783718752,
    0, 0.0016406437456599754, 0,
    1.8422455520539298, 11.441172603757666, 0,
    0.0007989109436015163, 0.000176816438078653, 0,
    1.8787594979546387, 10.94906990605142, 0,
    0.0007289346991508072, 0.9677937080626833, 0,
    0.00014003424285435884, 0.9981766977854967, 0.00031949755934435053,
    0.0004550992113792063, 0, 0,
    0.0013648766163243398, 0, 0,
    0, 0, 0,
    7.466890328078848, 0, 17.445833984131262,
    0.0006235601634041466, 0, 0,
    6.683678146179332, 0.00037724407979611296, 1.027889937768264,
    225.20515300849274, 0, 0,
    19.213238186143016, 0.0011401524586618361, 0.001237755635509985,
    176.39317598450694, 0, 0,
    24.43300999870476, 0.28520802612117757, 0.0004485436923833408,
    0, 0, 0,
    34.77906344483772, 44.835625328877896, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0.0008680556573291698, 0,
    0, 0, 0,
    0, 0.0005313191874358747, 0,
    0.00016533814161379112, 0, 0,
    0, 0, 0,
    0.0004179171803251336, 0.0017290828234722833, 0,
    0.0020827005846636437, 0, 0,
    8.826982764996862, 23.19243343998926, 0,
    95.1080498811086, 0.9863978034400682, 0.9834382792465353,
    0.0012286405048278493, 171.2667255897307, 0.9807858872435379,
    0, 0, 0,
    0.0005130064588990679, 0, 0.00010854057858411537,
};

static double score(Picture encode, Picture source)
{
    double norm[3][SCALES][2][3], sum = 0;
    int nb_scales = 0;

    for (; nb_scales < SCALES; nb_scales++) {
        Picture x1 = to_xyb(&source), x2 = to_xyb(&encode), smaller;
        const int ends = encode.w < 8 || encode.h < 8;

        for (int c = 0; c < 3; c++)
            compute_norms(norm[c][nb_scales], x1.plane[c], x2.plane[c], encode.w, encode.h);
        free_picture(&x1);
        free_picture(&x2);
        smaller = halve(&encode);
        free_picture(&encode);
        encode  = smaller;
        smaller = halve(&source);
        free_picture(&source);
        source  = smaller;
        if (ends) {
            nb_scales++;
            break;
        }
    }
    for (int c = 0, next = 0; c < 3; c++)
        for (int scale = 0; scale < nb_scales; scale++)
            for (int i = 0; i < 6; i++, next++)
                if (!vszip || weight[next] > 0.01)
                    sum += weight[next] * norm[c][scale][i / 3][i % 3];
    sum *= 0.9562382616834844;
    sum  = 2.326765642916932 * sum - 0.020884521182843837 * sum * sum +
           6.248496625763138e-05 * sum * sum * sum;
    return sum > 0 ? 100 - 10 * pow(sum, 0.6276336467831387) : 100;
}

int main(int argc, char **argv)
{
    int w, h;

    if (argc != 14 || sscanf(argv[3], "%dx%d", &w, &h) != 2)
        return 1;
    vszip   = !strcmp(argv[1], "vszip");
    gamma24 = !strcmp(argv[2], "bt1886");
    printf("%.9f\n", score(read_picture(w, h, argv + 4), read_picture(w, h, argv + 9)));
    return 0;
}
