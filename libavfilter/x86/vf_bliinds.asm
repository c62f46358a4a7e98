;*****************************************************************************
;* BLIINDS: functions for rows of samples and rows of blocks
;*
;* This file is part of FFmpeg.
;*
;* FFmpeg is free software; you can redistribute it and/or
;* modify it under the terms of the GNU Lesser General Public
;* License as published by the Free Software Foundation; either
;* version 2.1 of the License, or (at your option) any later version.
;*
;* FFmpeg is distributed in the hope that it will be useful,
;* but WITHOUT ANY WARRANTY; without even the implied warranty of
;* MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
;* Lesser General Public License for more details.
;*
;* You should have received a copy of the GNU Lesser General Public
;* License along with FFmpeg; if not, write to the Free Software
;* Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
;******************************************************************************

; AVX2 and AVX-512 versions of the C functions in bliinds_dsp.c, which process 8 or 16 samples or
; blocks at a time. Float operations have the order of bliinds_block.h, without fused multiply-add
; and approximate reciprocals, so that the results equal those of C bit by bit.
;
; Rows of blocks are padded to whole vectors, and rows of samples by BLIINDS_ROW_PAD, see
; bliinds_dsp.h. Only expand_row and motion_row have no padding, and process the rest by samples.

%include "libavutil/x86/x86util.asm"

%define FRAC_BITS  21   ; BLIINDS_FRAC_BITS
%define LOWER_BITS 12   ; BLIINDS_LOWER_BITS
%define MOTION_FRAC_BITS 7  ; BLIINDS_MOTION_FRAC_BITS
%define TAP_BITS   24   ; BLIINDS_TAP_BITS
%define TAP_SIDE   1786891
%define GAMMA_NB   9971 ; BLIINDS_GAMMA_NB
%define GAMMA_MIN  30
%define GAMMA_FLAT 11000

%macro CONST 2 ; name, value
%1: times 16 dd %2
%endmacro

%macro CONST_Q 2
%1: times 8 dq %2
%endmacro

SECTION_RODATA 64

CONST  f_abs,       0x7fffffff
CONST  all_bits,    -1
; 2^52: the sum with an integer below it holds the integer in its lower bits
CONST_Q integer_bits, 0x1p52
even_dwords: dd 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
odd_dwords:  dd 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31

; indices that sort blended samples 0, 3, 6, ..., then 1, 4, ... and 2, 5, ... of three vectors
every_3rd: dd 0, 3, 6,  9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45
           dd 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46
           dd 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47
rotate1:   dd 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0

CONST  f_4,         4.0
CONST  flat,        1.0e-7                  ; BLIINDS_FLAT_VARIANCE
CONST  f_half,      0.5
CONST  f_1,         1.0
CONST  f_1_3,       0.333333333333333333333
CONST  f_1_4,       0.25
CONST  f_1_5,       0.2
CONST  f_1_6,       0.166666666666666666667
CONST  f_1_7,       0.142857142857142857143
CONST  f_1_8,       0.125
CONST  f_1_12,      0.083333333333333333333
CONST  f_1_13,      0.076923076923076923077
CONST  f_1_23,      0.043478260869565217391
CONST  f_1_24,      0.041666666666666666667
CONST  f_1e_7,      1.0e-7
CONST  f_1e_8,      1.0e-8
CONST  set_noise,   0x1p-17
CONST  sub_max,     32767.0
; bliinds_dct5_rotation_stage()
CONST  dct5_k0,     0.4472135955
CONST  dct5_e,      0.1581138830
CONST  dct5_h,      0.3535533906
CONST  dct5_c1,     0.6015009550
CONST  dct5_c3,     0.3717480345
; bliinds_upper_bits() and bliinds_lower_bits()
CONST  upper_unit,  0x1p-9
CONST  lower_unit,  0x1p-21
CONST  lower_mask,  (1 << LOWER_BITS) - 1
; bliinds_lowpass()
CONST_Q tap_side,   TAP_SIDE
CONST_Q tap_round,  1 << (TAP_BITS - 1)
; bliinds_fixed()
CONST_Q fixed_unit, 0x1p32
; bliinds_gamma()
CONST  gamma_4_3,   1.33333333
CONST  gamma_p0,    1.337007827
CONST  gamma_p1,    1.668365978e-1
CONST  gamma_p2,    6.500588432e-1
CONST  gamma_p3,    5.727267102e-2
CONST  gamma_q0,    9.041299184e-1
CONST  gamma_q1,    9.825797097e-1
CONST  gamma_min,   0.03
CONST  gamma_step,  1000.0
CONST  gamma_last,  GAMMA_NB - 2
CONST  gamma_first, GAMMA_MIN
CONST  gamma_flat,  GAMMA_FLAT

SECTION .text

%if ARCH_X86_64

%define LANES (mmsize / 4)

; Instantiate all functions for AVX2 and AVX-512. half() is the lower half of a vector.
%macro FOR_EACH_WIDTH 1 ; macro that defines the functions
INIT_YMM avx2
%define half(number) xm %+ number
    %1
%if HAVE_AVX512ICL_EXTERNAL
INIT_ZMM avx512icl
%define half(number) ym %+ number
    %1
%endif
%endmacro

; Convert doubles in [0, 2^52) to int64_t, rounding towards 0
%macro TRUNCATE 2 ; doubles, integer_bits
%if mmsize == 64
    vcvttpd2qq      %1, %1
%else
    roundpd         %1, %1, 3
    addpd           %1, %2
    pxor            %1, %2
%endif
%endmacro

; Extract the upper half of a vector
%macro UPPER_HALF 2 ; dst, src: register numbers
%if mmsize == 64
    vextracti64x4 ym%1, m%2, 1
%else
    vextracti128  xm%1, m%2, 1
%endif
%endmacro

; Separate the even and odd 32-bit elements of two vectors
%macro UNZIP 4 ; first vector and dst of even elements, dst of odd, second vector, temporary
%if mmsize == 64
    mova            %2, [odd_dwords]
    mova            %4, [even_dwords]
    vpermi2d        %2, %1, %3
    vpermt2d        %1, %4, %3
%else
    shufps          %2, %1, %3, q3131
    shufps          %1, %1, %3, q2020
    vpermq          %2, %2, q3120
    vpermq          %1, %1, q3120
%endif
%endmacro

; Sum the quadwords of m0; m1 is temporary
%macro SUM_QWORDS 1 ; dst
%if mmsize == 64
    UPPER_HALF       1, 0
    paddq          ym0, ym1
%endif
    vextracti128   xm1, ym0, 1
    paddq          xm0, xm1
    pshufd         xm1, xm0, q1032
    paddq          xm0, xm1
    movq            %1, xm0
%endmacro

; Compare floats. Masks are numbered: k1, k2, ... with AVX-512, m1, m2, ... with AVX2.
%macro COMPARE 4 ; mask, lt or le, a, b
%if mmsize == 64
    vcmp%{2}ps     k%1, %3, %4
%else
    cmp%{2}ps      m%1, %3, %4
%endif
%endmacro

; Set elements to 0 whose mask is not set
%macro MASKED 3 ; dst, src, mask
%if mmsize == 64
    vmovaps         %1 {k%3}{z}, %2
%else
    andps           %1, %2, m%3
%endif
%endmacro

; Select elements by a mask from COMPARE
%macro CHOOSE 4 ; dst, src if not set, src if set, mask
%if mmsize == 64
    vpblendmd       %1 {k%4}, %2, %3
%else
    vblendvps       %1, %2, %3, m%4
%endif
%endmacro

; Move a mask to a general register, one bit per element
%macro MOVE_MASK 2 ; dst, mask
%if mmsize == 64
    kmovw           %1, k%2
%else
    movmskps        %1, m%2
%endif
%endmacro

; Define a constant mask: k1, k2, ... with AVX-512, immediates mask1, mask2, ... with AVX2
%macro SET_MASK 3 ; mask, bits, temporary register
%if mmsize == 64
    mov             %3, %2
    kmovw          k%1, %3
%else
    %assign mask%1 (%2) & 0xff
%endif
%endmacro

; Select elements by a constant mask
%macro BLEND 4 ; dst, src if not set, src if set, mask
%if mmsize == 64
    vpblendmd       %1 {k %+ %4}, %2, %3
%else
    vpblendd        %1, %2, %3, mask %+ %4
%endif
%endmacro

; Convert the samples in m0 to level samples; m1 = down, m2 = up, m3 = black, m4 = mask
%macro EXPAND 1 ; m or xm
    psrld       %1 %+ 0, xm1
    pand        %1 %+ 0, %1 %+ 4
    psubd       %1 %+ 0, %1 %+ 3
    pslld       %1 %+ 0, xm2
%endmacro

; void bliinds_expand_row(int32_t *dst, const uint8_t *src, int w,
;                         int down, int black, int up)
%macro EXPAND_ROW 3 ; bits, instruction that loads a vector, size of a sample
cglobal bliinds_expand_row%1, 6, 6, 5, dst, src, w, down, black, up
    movd           xm1, downd
    movd           xm2, upd
    movd           xm3, blackd
    vpbroadcastd    m3, xm3
    add            upd, 32 - FRAC_BITS - 8
    movd           xm0, upd
    mova            m4, [all_bits]
    psrld           m4, xm0
    sub             wd, LANES
    jl .rest
.loop:
    %2              m0, [srcq]
    EXPAND           m
    movu        [dstq], m0
    add           srcq, LANES * %1 / 8
    add           dstq, mmsize
    sub             wd, LANES
    jge .loop
.rest:
    add             wd, LANES
    jz .end
.one:
    movzx        downd, %3 [srcq]
    movd           xm0, downd
    EXPAND          xm
    movd        [dstq], xm0
    add           srcq, %1 / 8
    add           dstq, 4
    dec             wd
    jg .one
.end:
    RET
%endmacro

; bliinds_lowpass() of three vectors; mask 1 = odd elements
%macro LOWPASS 6 ; dst and first tap, middle tap, last tap, 3 temporary registers
    paddd           %4, %1, %3
    paddd           %5, %2, %2
    psubd           %4, %5
    psrlq           %5, %4, 32
    pmuldq          %4, m14
    pmuldq          %5, m14
    paddq           %4, m15
    paddq           %5, m15
    psrlq           %4, TAP_BITS
    psllq           %5, 32 - TAP_BITS
    BLEND           %4, %4, %5, 1
    paddd           %1, %4, %2
%endmacro

; Vertical bliinds_lowpass() of one vector of each of three rows
%macro LOWPASS_ROWS 2 ; dst, index of the first sample
    movu            %1, [aboveq  + iq * 8 + (%2) * 4]
    movu            m4, [middleq + iq * 8 + (%2) * 4]
    movu            m5, [belowq  + iq * 8 + (%2) * 4]
    LOWPASS         %1, m4, m5, m6, m7, m8
%endmacro

; void bliinds_lowpass_row(int32_t *dst, const int32_t *above, const int32_t *middle,
;                          const int32_t *below, int w)
%macro LOWPASS_ROW 0
cglobal bliinds_lowpass_row, 5, 6, 16, dst, above, middle, below, w, i
    SET_MASK         1, 0xaaaa, id
    SET_MASK         2, 1 << (LANES - 1), id
    mova           m13, [rotate1]
    mova           m14, [tap_side]
    mova           m15, [tap_round]
    shr             wd, 1
    xor             id, id
.loop:
    LOWPASS_ROWS    m0, 0
    LOWPASS_ROWS    m1, LANES
    LOWPASS_ROWS    m2, LANES + 1
    UNZIP           m0, m3, m1, m4
    vpermd          m1, m13, m0             ; even samples that follow the odd ones
    BLEND           m1, m1, m2, 2
    LOWPASS         m0, m3, m1, m6, m7, m8
    movu [dstq + iq * 4], m0
    add             id, LANES
    cmp             id, wd
    jl .loop
    RET
%endmacro

; Add the nonnegative dwords of m0 to quadwords; m1 = 0, mask 1 = odd elements
%macro WIDEN 2 ; sum, temporary
    psrlq           %2, m0, 32
    BLEND           m0, m0, m1, 1
    paddq           %1, %2
    paddq           %1, m0
%endmacro

; void bliinds_motion_row(uint64_t sum[2], int16_t *prev, const int32_t *line, int w)
%macro MOTION_ROW 0
cglobal bliinds_motion_row, 4, 6, 6, sum, prev, line, w, v, t
    SET_MASK         1, 0xaaaa, vd
    pxor            m1, m1
    pxor            m2, m2                  ; sums of squares
    pxor            m3, m3                  ; sums of magnitudes, as dwords
    sub             wd, LANES
    jl .sum
.loop:
    movu            m4, [lineq]
    pmovsxwd        m5, [prevq]
    psrad           m4, FRAC_BITS - MOTION_FRAC_BITS
    psubd           m5, m4, m5
%if mmsize == 64
    vpmovdw    [prevq], m4
%else
    vextracti128   xm0, m4, 1
    packssdw       xm4, xm0
    movu       [prevq], xm4
%endif
    pmulld          m0, m5, m5
    pabsd           m5, m5
    paddd           m3, m5
    WIDEN           m2, m5
    add          lineq, mmsize
    add          prevq, mmsize / 2
    sub             wd, LANES
    jge .loop
.sum:
    mova            m0, m2
    SUM_QWORDS      vq
    add     [sumq + 8], vq
    mova            m0, m3
    pxor            m1, m1
    pxor            m2, m2
    WIDEN           m2, m5
    mova            m0, m2
    SUM_QWORDS      vq
    add         [sumq], vq
    add             wd, LANES
    jz .end
.one:
    mov             vd, [lineq]
    movsx           td, word [prevq]
    sar             vd, FRAC_BITS - MOTION_FRAC_BITS
    mov        [prevq], vw
    sub             vd, td
    mov             td, vd
    imul            vd, vd
    add     [sumq + 8], vq
    mov             vd, td
    neg             vd
    cmovs           vd, td
    add         [sumq], vq
    add          lineq, 4
    add          prevq, 2
    dec             wd
    jg .one
.end:
    RET
%endmacro

; bliinds_dct5_integer_stage() in place
%macro DCT5_INTEGER 0 ; m0..m4, m5 and m6 are temporary, m7 = 4
    addps           m5, m0, m4
    subps           m6, m0, m4
    addps           m0, m1, m3
    subps           m4, m1, m3
    mova            m3, m6
    addps           m6, m5, m0
    subps           m5, m5, m0
    mulps           m1, m2, m7
    subps           m1, m6, m1
    addps           m0, m6, m2
    mova            m2, m5
%endmacro

%macro STORE_DCT5 1 ; dst
    movu [%1],               m0
    movu [%1 + strideq],     m1
    movu [%1 + strideq * 2], m2
    movu [%1 + stride3q],    m3
    movu [%1 + strideq * 4], m4
%endmacro

; m0..m4 = bliinds_upper_bits() or bliinds_lower_bits() of the samples m11..m15
%macro PARTS 3 ; operation, its operand, unit
%assign %%k 0
%rep 5
%assign %%x %%k + 11
    %1       m %+ %%k, m %+ %%x, %2
    cvtdq2ps m %+ %%k, m %+ %%k
    mulps    m %+ %%k, %3
%assign %%k %%k + 1
%endrep
%endmacro

; Extract every third sample of m3..m5; masks 1, 2, 3 = elements 0, 3, ..., 1, 4, ..., 2, 5, ...
%macro EVERY_3RD 3 ; dst, index, first sample
%assign %%second (%3 + mmsize / 32) % 3 + 1
%assign %%third  (%3 + mmsize / 16) % 3 + 1
    BLEND           %1, m3, m4, %%second
    BLEND           %1, %1, m5, %%third
    vpermd          %1, %2, %1
%endmacro

; void bliinds_dct5_row(float *upper, float *lower, ptrdiff_t stride,
;                        const int32_t *line, int nb_blocks)
%macro DCT5_ROW 0
cglobal bliinds_dct5_row, 5, 8, 16, upper, lower, stride, line, nb, stride3, i, x
    SET_MASK         1, 0x9249, id
    SET_MASK         2, 0x2492, id
    SET_MASK         3, 0x4924, id
    SET_MASK         4, 1 << (LANES - 1), id
    mova            m7, [f_4]
    mova            m8, [every_3rd]
    mova            m9, [every_3rd + 64]
    mova           m10, [every_3rd + 128]
    shl        strideq, 2
    lea       stride3q, [strideq * 3]
    xor             id, id
.loop:
    lea             xq, [iq * 3]
    lea             xq, [lineq + xq * 4]
    movu            m3, [xq]
    movu            m4, [xq + mmsize]
    movu            m5, [xq + mmsize * 2]
    EVERY_3RD      m11, m8, 0
    EVERY_3RD      m12, m9, 1
    EVERY_3RD      m13, m10, 2
    mova            m6, [rotate1]
    vpermd         m14, m6, m11
    vpermd         m15, m6, m12
    BLEND          m14, m14, [xq + (LANES * 2 + 1) * 4], 4
    BLEND          m15, m15, [xq + (LANES * 2 + 2) * 4], 4
    lea             xq, [upperq + iq * 4]
    mova            m5, [upper_unit]
    PARTS        psrad, LOWER_BITS, m5
    DCT5_INTEGER
    STORE_DCT5      xq
    test        lowerq, lowerq
    jz .next
    lea             xq, [lowerq + iq * 4]
    mova            m5, [lower_mask]
    mova            m6, [lower_unit]
    PARTS         pand, m5, m6
    DCT5_INTEGER
    STORE_DCT5      xq
.next:
    add             id, LANES
    cmp             id, nbd
    jl .loop
    RET
%endmacro

; bliinds_dct5_rotation_stage() in place
%macro DCT5_ROTATION 0 ; m0..m4, m5 and m6 are temporary, m8..m12 = k0, e, h, c1, c3
    mulps           m0, m8
    mulps           m5, m3, m11
    mulps           m6, m4, m12
    addps           m5, m6
    mulps           m3, m12
    mulps           m4, m11
    subps           m3, m4
    mulps           m2, m10
    mulps           m1, m9
    subps           m4, m2, m1
    addps           m2, m1
    mova            m1, m5
%endmacro

; Coefficient of vertical frequency i and horizontal frequency j
%define X(i, j) [rsp + (i * 5 + j) * mmsize]

%macro MAGNITUDE 3 ; dst, i, j
    andps           %1, m15, X(%2, %3)
%endmacro

%macro DEVIATION 3 ; dst, i, j; the mean is in m14
    mova            %1, X(%2, %3)
    subps           %1, m14
    andps           %1, m15
%endmacro

%macro COEFFICIENT 3 ; dst, i, j
    mova            %1, X(%2, %3)
%endmacro

%macro SQUARE 3 ; dst, i, j
    mova            %1, X(%2, %3)
    mulps           %1, %1
%endmacro

%macro ADD_TWO 7 ; dst, temporary, function, i, j, i, j
    %3              %1, %4, %5
    %3              %2, %6, %7
    addps           %1, %2
%endmacro

; BLIINDS_SUM8(); m3..m6 are temporary
%macro SUM8 18 ; dst, function, i, j ...
    ADD_TWO         m3, m4, %2, %3, %4, %5, %6
    ADD_TWO         m4, m5, %2, %7, %8, %9, %10
    addps           m3, m4
    ADD_TWO         m4, m5, %2, %11, %12, %13, %14
    ADD_TWO         m5, m6, %2, %15, %16, %17, %18
    addps           m4, m5
    addps           %1, m3, m4
%endmacro

%macro SET1 2 ; dst, function
    SUM8            %1, %2, 0,1, 0,2, 0,3, 0,4, 1,2, 1,3, 1,4, 2,4
%endmacro
%macro SET2 2
    SUM8            %1, %2, 1,1, 2,2, 2,3, 3,2, 3,3, 3,4, 4,3, 4,4
%endmacro
%macro SET3 2
    SUM8            %1, %2, 1,0, 2,0, 3,0, 4,0, 2,1, 3,1, 4,1, 4,2
%endmacro

; bliinds_variance()
%macro VARIANCE 6 ; dst, sum of squares, sum, 1 / n, 1 / (n - 1), temporary
    mulps           %6, %3, %3
    mulps           %6, [%4]
    subps           %1, %2, %6
    mulps           %1, [%5]
    xorps           %6, %6
    vmaxps          %1, %1, %6              ; operand order matters: -0 becomes +0
%endmacro

; bliinds_freq_variation()
%macro FREQ_VARIATION 6 ; dst, sum of squares, sum, 1 / n, 1 / (n - 1), temporary
    VARIANCE        %1, %2, %3, %4, %5, %6
    sqrtps          %1, %1
    mulps           %6, %3, [%4]
    addps           %6, [f_1e_7]
    divps           %1, %6
%endmacro

; m0, m1, m2 = sums of squares over the intersections of a set and the bands; m3, m4 are temporary
%macro SQUARES_OF 16 ; i, j of the 8 coefficients of set 1 or 3
    ADD_TWO         m0, m3, SQUARE, %1, %2, %3, %4
    ADD_TWO         m1, m3, SQUARE, %5, %6, %7, %8
    ADD_TWO         m2, m3, SQUARE, %9, %10, %11, %12
    addps           m1, m2
    SQUARE          m2, %13, %14
    addps           m1, m2
    SQUARE          m2, %15, %16
%endmacro
%macro SET1_SQUARES 0
    SQUARES_OF 0,1, 0,2, 0,3, 0,4, 1,2, 1,3, 1,4, 2,4
%endmacro
%macro SET2_SQUARES 0
    SQUARE          m0, 1,1
    ADD_TWO         m1, m3, SQUARE, 2,2, 2,3
    SQUARE          m2, 3,2
    addps           m1, m2
    ADD_TWO         m2, m3, SQUARE, 3,3, 3,4
    ADD_TWO         m4, m3, SQUARE, 4,3, 4,4
    addps           m2, m4
%endmacro
%macro SET3_SQUARES 0
    SQUARES_OF 1,0, 2,0, 3,0, 4,0, 2,1, 3,1, 4,1, 4,2
%endmacro

; Add the sums of squares of a set to those of all sets, m11, m12, m13
%macro ADD_SET 0
    addps          m11, m0
    addps          m12, m1
    addps          m13, m2
%endmacro

; Frequency variation of a set. Adds its sums of squares to m11, m12, m13, and their sum to m14.
%macro SET_FREQ_VARIATION 1 ; sum of magnitudes, replaced by the frequency variation
    ADD_SET
    addps           m0, m1
    addps           m0, m2
    addps          m14, m0
    FREQ_VARIATION  m0, m0, %1, f_1_8, f_1_7, m1
    mova            m2, [set_noise]
    COMPARE          2, lt, m2, %1
    MASKED          %1, m0, 2
%endmacro

; bliinds_dct5_integer_stage() of a column of horizontal terms at an offset in the rows
%macro DCT5_INTEGER_COLUMN 2 ; rows, offset
    movu            m0, [%1 %+ 0q + %2]
    movu            m1, [%1 %+ 1q + %2]
    movu            m2, [%1 %+ 2q + %2]
    movu            m3, [%1 %+ 3q + %2]
    movu            m4, [%1 %+ 4q + %2]
    DCT5_INTEGER
%endmacro

%macro STORE_COLUMN 1 ; k
%assign %%i 0
%rep 5
    mova    X(%%i, %1), m %+ %%i
%assign %%i %%i + 1
%endrep
%endmacro

; Integer stage of a column of lower bits
%macro LOWER_COLUMN 2 ; k, offset
    DCT5_INTEGER_COLUMN lower, %2
    STORE_COLUMN    %1
%endmacro

; DCT of a column of upper bits, with the lower bits, already in X(), added
%macro COLUMN 3 ; k, offset, has lower bits
    DCT5_INTEGER_COLUMN upper, %2
%if %3
    addps           m0, X(0, %1)
    addps           m1, X(1, %1)
    addps           m2, X(2, %1)
    addps           m3, X(3, %1)
    addps           m4, X(4, %1)
%endif
    DCT5_ROTATION
    STORE_COLUMN    %1
%endmacro

; Load five pointers
%macro LOAD_ROWS 1 ; register names; the first holds the address of the pointers
    mov            %1 %+ 1q, [%1 %+ 0q + 1 * gprsize]
    mov            %1 %+ 2q, [%1 %+ 0q + 2 * gprsize]
    mov            %1 %+ 3q, [%1 %+ 0q + 3 * gprsize]
    mov            %1 %+ 4q, [%1 %+ 0q + 4 * gprsize]
    mov            %1 %+ 0q, [%1 %+ 0q]
%endmacro

; X() = DCT: bliinds_dct5_columns(), then bliinds_dct5_rotation_stage() of columns and rows
%macro DCT 1 ; has lower bits
    mova            m7, [f_4]
    mova            m8, [dct5_k0]
    mova            m9, [dct5_e]
    mova           m10, [dct5_h]
    mova           m11, [dct5_c1]
    mova           m12, [dct5_c3]
%if %1
    LOWER_COLUMN     0, 0
    LOWER_COLUMN     1, strideq
    LOWER_COLUMN     2, strideq * 2
    LOWER_COLUMN     3, stride3q
    LOWER_COLUMN     4, strideq * 4
%endif
    COLUMN           0, 0, %1
    COLUMN           1, strideq, %1
    COLUMN           2, strideq * 2, %1
    COLUMN           3, stride3q, %1
    COLUMN           4, strideq * 4, %1
%assign %%i 0
%rep 5
    mova            m0, X(%%i, 0)
    mova            m1, X(%%i, 1)
    mova            m2, X(%%i, 2)
    mova            m3, X(%%i, 3)
    mova            m4, X(%%i, 4)
    DCT5_ROTATION
    mova   X(%%i, 0), m0
    mova   X(%%i, 1), m1
    mova   X(%%i, 2), m2
    mova   X(%%i, 3), m3
    mova   X(%%i, 4), m4
%assign %%i %%i + 1
%endrep
%endmacro

; Store BLIINDS_ROW_BAND and BLIINDS_ROW_FLAT. In: m11, m12, m13 = sums of squares over the bands.
; Out: m7, m8, m9 = variances of the bands, m10 = sum of all AC coefficients.
%macro BANDS 0
    ADD_TWO         m7, m1, COEFFICIENT, 0,1, 0,2
    ADD_TWO         m0, m1, COEFFICIENT, 1,0, 2,0
    addps           m7, m0
    addps           m7, X(1,1)
    SUM8            m8, COEFFICIENT, 0,3, 0,4, 1,2, 1,3, 3,0, 4,0, 2,1, 3,1
    ADD_TWO         m0, m1, COEFFICIENT, 1,4, 4,1
    ADD_TWO         m1, m2, COEFFICIENT, 2,3, 3,2
    addps           m0, m1
    addps           m8, m0
    addps           m8, X(2,2)
    ADD_TWO         m9, m1, COEFFICIENT, 2,4, 4,2
    ADD_TWO         m0, m1, COEFFICIENT, 3,4, 4,3
    addps           m9, m0
    ADD_TWO         m0, m1, COEFFICIENT, 3,3, 4,4
    addps           m9, m0
    addps          m10, m7, m8
    addps          m10, m9
    VARIANCE        m7, m11, m7, f_1_5, f_1_4, m0
    VARIANCE        m8, m12, m8, f_1_13, f_1_12, m0
    VARIANCE        m9, m13, m9, f_1_6, f_1_5, m0
    movu        [dstq], m7
    movu [dstq + strideq], m8
    movu [dstq + strideq * 2], m9
    addps           m0, m7, m8
    addps           m0, m9
    COMPARE          2, le, m0, [flat]
    mova            m1, [f_1]
    MASKED          m0, m1, 2
    movu [dstq + stride3q], m0
%endmacro

; Rows of bliinds_band_row() from X()
%macro BAND_BLOCK 0
    SET1_SQUARES
    mova           m11, m0
    mova           m12, m1
    mova           m13, m2
    SET2_SQUARES
    ADD_SET
    SET3_SQUARES
    ADD_SET
    BANDS
%endmacro

; Rows of bliinds_block_row() from X(): bliinds_block()
%macro BLOCK 0
    ; m7, m8, m9 = sums of magnitudes over the sets
    mova           m15, [f_abs]
    SET1            m7, MAGNITUDE
    SET2            m8, MAGNITUDE
    SET3            m9, MAGNITUDE
    addps          m10, m7, m8
    addps          m10, m9

    ; m7, m8, m9 = frequency variations of the sets; m11, m12, m13 = sums of squares over the bands
    xorps          m11, m11
    xorps          m12, m12
    xorps          m13, m13
    xorps          m14, m14
    SET1_SQUARES
    SET_FREQ_VARIATION m7
    SET2_SQUARES
    SET_FREQ_VARIATION m8
    SET3_SQUARES
    SET_FREQ_VARIATION m9

    FREQ_VARIATION  m0, m14, m10, f_1_24, f_1_23, m1
    movu [dstq + strideq * 4], m0           ; zeta

    ; ori: variance of the frequency variations
    addps           m0, m7, m8
    addps           m0, m9
    mulps           m0, [f_1_3]
    subps           m7, m0
    subps           m8, m0
    subps           m9, m0
    mulps           m7, m7
    mulps           m8, m8
    mulps           m9, m9
    addps           m7, m8
    addps           m7, m9
    mulps           m7, [f_half]
    movu [dstq + stride3q * 2], m7

    BANDS

    ; sub: energy subband ratio
    addps           m0, m7, m8
    mulps           m0, [f_half]
    subps           m1, m9, m0
    andps           m1, m15
    addps           m0, m9, m0
    addps           m0, [f_1e_8]
    divps           m1, m0
    subps           m2, m8, m7
    andps           m2, m15
    addps           m0, m9, m7
    addps           m0, [f_1e_8]
    divps           m2, m0
    addps           m1, m2
    mulps           m1, [f_half]
    vminps          m1, m1, [sub_max]
    lea             tq, [strideq + strideq * 4]
    movu   [dstq + tq], m1

    ; rho: variance of the AC coefficients over their squared mean absolute deviation
    mova            m2, m14
    mulps          m14, m10, [f_1_24]
    SET1            m7, DEVIATION
    SET2            m8, DEVIATION
    SET3            m9, DEVIATION
    addps           m7, m8
    addps           m7, m9
    mulps           m7, [f_1_24]
    mulps           m7, m7
    addps           m7, [f_1e_7]
    VARIANCE        m0, m2, m10, f_1_24, f_1_23, m1
    divps           m0, m7
    lea             tq, [stride3q + strideq * 4]
    movu   [dstq + tq], m0
%endmacro

; Loop over a row of blocks
%macro BLOCKS 3-* ; macro that stores a block, has lower bits, pointers to advance
%%loop:
    DCT             %2
    %1
%rep %0 - 2
    add             %3, mmsize
%rotate 1
%endrep
    sub            nbd, LANES
    jg %%loop
    RET
%endmacro

; void bliinds_block_row(float *dst, const float *const upper[5],
;                        const float *const lower[5], ptrdiff_t stride, int nb_blocks)
%macro BLOCK_ROW 2 ; name, macro that stores a block
cglobal bliinds_%1_row, 5, 15, 16, -25 * mmsize, \
        dst, upper0, lower0, stride, nb, upper1, upper2, upper3, upper4, \
        lower1, lower2, lower3, lower4, stride3, t
    LOAD_ROWS    upper
    shl        strideq, 2
    lea       stride3q, [strideq * 3]
    test       lower0q, lower0q
    jnz .lower
    BLOCKS          %2, 0, dstq, upper0q, upper1q, upper2q, upper3q, upper4q
.lower:
    LOAD_ROWS    lower
    BLOCKS          %2, 1, dstq, upper0q, upper1q, upper2q, upper3q, upper4q, \
                           lower0q, lower1q, lower2q, lower3q, lower4q
%endmacro

; Add bliinds_fixed() of half a vector of floats; m13 = fixed_unit, m14 = integer_bits
%macro ADD_FIXED 3 ; sum, src, temporary
    cvtps2pd        %3, %2
    mulpd           %3, m13
    TRUNCATE        %3, m14
    paddq           %1, %3
%endmacro

; void bliinds_sum_rows(uint64_t (*sum)[8], const float *value,
;                       ptrdiff_t stride, int nb_rows, int nb_blocks)
%macro SUM_ROWS 0
cglobal bliinds_sum_rows, 5, 6, 15, sum, value, stride, nb_rows, nb, i
    mova           m13, [fixed_unit]
    mova           m14, [integer_bits]
    shl        strideq, 2
    movsxd         nbq, nbd
    lea         valueq, [valueq + nbq * 4]
    neg            nbq
.row:
    pxor            m0, m0
    pxor            m1, m1
    mov             iq, nbq
.loop:
    ADD_FIXED       m0, [valueq + iq * 4], m2
    ADD_FIXED       m1, [valueq + iq * 4 + mmsize / 2], m3
    add             iq, LANES
    jl .loop
%if mmsize == 64
    paddq           m0, m1
%else
    paddq           m1, [sumq + 32]
    movu   [sumq + 32], m1
%endif
    paddq           m0, [sumq]
    movu        [sumq], m0
    add         valueq, strideq
    add           sumq, 64
    dec       nb_rowsd
    jg .row
    RET
%endmacro

; Gather two adjacent floats per index, half a vector of indices; m8 = all_bits, m5 is temporary
%macro GATHER_PAIRS 2 ; dst, indices
%if mmsize == 64
    kxnorw          k1, k1, k1
    vgatherdpd      %1 {k1}, [tableq + %2 * 4]
%else
    mova            m5, m8
    vgatherdpd      %1, [tableq + %2 * 4], m5
%endif
%endmacro

; Add or subtract -1 in elements whose mask is set; m8 = all_bits
%macro COUNT_IF 3 ; paddd or psubd, dst, mask
%if mmsize == 64
    v%1             %2 {k%3}, %2, m8
%else
    %1              %2, m%3
%endif
%endmacro

; void bliinds_gamma_row(float *rho, const float *table, int nb_blocks)
%macro GAMMA_ROW 0
cglobal bliinds_gamma_row, 3, 3, 16, rho, table, nb
    movsxd         nbq, nbd
    lea           rhoq, [rhoq + nbq * 4]
    neg            nbq
    vbroadcastss   m15, [tableq + (GAMMA_NB - 1) * 4]
    mova           m10, [gamma_flat]
    mova            m9, [f_1]
    mova            m8, [all_bits]
.loop:
    movu            m0, [rhoq + nbq * 4]
    COMPARE          7, lt, m15, m0         ; a shape fits
    maxps           m0, m15
    subps           m1, m0, [gamma_4_3]
    sqrtps          m1, m1
    divps           m1, m9, m1
    mulps           m2, m1, [gamma_p0]
    addps           m2, [gamma_p1]
    mulps           m2, m1
    addps           m2, [gamma_p2]
    mulps           m2, m1
    addps           m2, [gamma_p3]
    mulps           m3, m1, [gamma_q0]
    addps           m3, [gamma_q1]
    mulps           m3, m1
    addps           m3, m9
    divps           m2, m3
    subps           m2, [gamma_min]
    mulps           m2, [gamma_step]
    cvttps2dq       m2, m2
    pminsd          m2, [gamma_last]

    UPPER_HALF       3, 2
    GATHER_PAIRS    m4, half(2)
    GATHER_PAIRS    m6, half(3)
    UNZIP           m4, m5, m6, m1          ; table[j], table[j + 1]
    COMPARE          5, le, m0, m5
    COMPARE          4, lt, m4, m0
    COUNT_IF     psubd, m2, 5
    COUNT_IF     paddd, m2, 4

    paddd           m2, [gamma_first]
    CHOOSE          m2, m10, m2, 7
    cvtdq2ps        m2, m2
    movu [rhoq + nbq * 4], m2
    add            nbq, LANES
    jl .loop
    RET
%endmacro

; int bliinds_select_range(float *dst, uint64_t above[2], const float *value, int n,
;                    const float range[2])
%macro SELECT_RANGE 0
cglobal bliinds_select_range, 5, 9, 15, dst, above, value, n, range, start, mask, i, nb
    mova           m13, [fixed_unit]
    mova           m14, [integer_bits]
    vbroadcastss    m6, [rangeq]
    vbroadcastss    m7, [rangeq + 4]
    pxor            m0, m0
    movsxd          nq, nd
    lea         valueq, [valueq + nq * 4]
    neg             nq
    mov         startq, dstq
    xor            nbd, nbd
.loop:
    movu            m1, [valueq + nq * 4]
    COMPARE          2, le, m6, m1
    MOVE_MASK    maskd, 2
    test         maskd, maskd
    jz .next
    COMPARE          2, lt, m7, m1
    MOVE_MASK       id, 2
    test            id, id
    jz .collect
    xor          maskd, id
    popcnt          id, id
    add            nbd, id
    MASKED          m3, m1, 2
    UPPER_HALF       4, 3
    ADD_FIXED       m0, half(3), m2
    ADD_FIXED       m0, half(4), m2
    test         maskd, maskd
    jz .next
.collect:
%if mmsize == 64
    kmovw           k1, maskd
    vcompressps [dstq] {k1}, m1
    popcnt       maskd, maskd
    lea           dstq, [dstq + maskq * 4]
%else
    tzcnt           id, maskd
    lea             iq, [valueq + iq * 4]
    movss          xm1, [iq + nq * 4]
    movss       [dstq], xm1
    add           dstq, 4
    blsr         maskd, maskd
    jnz .collect
%endif
.next:
    add             nq, LANES
    jl .loop
    SUM_QWORDS      iq
    add       [aboveq], iq
    add   [aboveq + 8], nbq
    mov            rax, dstq
    sub            rax, startq
    shr            rax, 2
    RET
%endmacro

%macro BLIINDS_FUNCTIONS 0
EXPAND_ROW  8, pmovzxbd, byte
EXPAND_ROW 16, pmovzxwd, word
LOWPASS_ROW
MOTION_ROW
DCT5_ROW
BLOCK_ROW block, BLOCK
BLOCK_ROW  band, BAND_BLOCK
SUM_ROWS
GAMMA_ROW
SELECT_RANGE
%endmacro

FOR_EACH_WIDTH BLIINDS_FUNCTIONS

%endif
