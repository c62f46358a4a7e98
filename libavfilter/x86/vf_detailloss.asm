;*****************************************************************************
;* Rows of samples and of wavelet coefficients of the detailloss filter
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

; The C functions of detailloss_dsp.c, 8 or 16 elements at a time. Each float is added
; and multiplied in the order of detailloss_wavelet.h, so that the bits are those of C:
; no fused multiply-add.
;
; Rows are whole vectors. Of those that are read from frames, the last vector may overlap the one
; before.

%include "libavutil/x86/x86util.asm"
%include "libavfilter/x86/rows.asm"

SECTION_RODATA 64

; detail_low() and detail_high()
CONST  tap0,   0.4829629131
CONST  tap1,   0.8365163037
CONST  tap2,   0.2241438680
CONST  tap3,   0.1294095226
; detail_mask()
CONST  f_1_30, 0.033333333333333333333
; detail_cube()
CONST  cube_unit,  65536.0
; elements in order after shufps of two vectors, by the size of these
unzip64: dd 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15
unzip32: dd 0, 1, 4, 5, 2, 3, 6, 7

SECTION .text

%if ARCH_X86_64

%macro BEGIN_LOOP 0
    movsxd          wq, wd
    sub             wq, LANES
    xor             id, id
.loop:
%endmacro

; void detailloss_load_row(float *dst, const uint8_t *src, int w,
;                          int shift, int mask, float unit)
%macro LOAD_ROW 2 ; bits, load
cglobal detailloss_load_row%1, 5, 6, 4, dst, src, w, shift, mask, i
%if WIN64
    vbroadcastss    m0, r5m
%else
    vbroadcastss    m0, xmm0                ; xm0 may be another
%endif
    movd           xm1, shiftd
    movd           xm2, maskd
    vpbroadcastd    m2, xm2
    BEGIN_LOOP
    %2              m3, [srcq + iq * (%1 / 8)]
    psrld           m3, xm1
    pand            m3, m2
    cvtdq2ps        m3, m3
    mulps           m3, m0
    movu [dstq + iq * 4], m3
    NEXT            iq, wq
    RET
%endmacro

; detail_low() m4 and detail_high() m5 of m0..m3; m8..m11 = the taps
%macro SPLIT 0
    mulps           m4, m8, m0
    mulps           m5, m9, m1
    addps           m4, m5
    mulps           m5, m10, m2
    mulps           m6, m11, m3
    subps           m5, m6
    addps           m4, m5
    mulps           m5, m9, m2
    mulps           m6, m10, m1
    subps           m5, m6
    mulps           m6, m11, m0
    mulps           m7, m8, m3
    addps           m6, m7
    subps           m5, m6
%endmacro

%macro LOAD_TAPS 0
    mova            m8, [tap0]
    mova            m9, [tap1]
    mova           m10, [tap2]
    mova           m11, [tap3]
%endmacro

; void detailloss_split_columns(float *low, float *high, const float *const line[4], int w)
%macro SPLIT_COLUMNS 0
cglobal detailloss_split_columns, 4, 8, 12, low, high, line0, w, line1, line2, line3, i
    LOAD_TAPS
    mov         line1q, [line0q + 1 * gprsize]
    mov         line2q, [line0q + 2 * gprsize]
    mov         line3q, [line0q + 3 * gprsize]
    mov         line0q, [line0q]
    BEGIN_LOOP
    movu            m0, [line0q + iq * 4]
    movu            m1, [line1q + iq * 4]
    movu            m2, [line2q + iq * 4]
    movu            m3, [line3q + iq * 4]
    SPLIT
    movu [lowq + iq * 4], m4
    movu [highq + iq * 4], m5
    NEXT            iq, wq
    RET
%endmacro

; void detailloss_split_row(float *low, float *high, const float *src, int w)
%macro SPLIT_ROW 0
cglobal detailloss_split_row, 4, 5, 13, low, high, src, w, i
    LOAD_TAPS
    mova           m12, [unzip %+ mmsize]
    BEGIN_LOOP
    movu            m1, [srcq + iq * 8 - 4]
    movu            m2, [srcq + iq * 8 - 4 + mmsize]
    movu            m3, [srcq + iq * 8 + 4]
    movu            m4, [srcq + iq * 8 + 4 + mmsize]
    shufps          m0, m1, m2, q2020
    shufps          m1, m1, m2, q3131
    shufps          m2, m3, m4, q2020
    shufps          m3, m3, m4, q3131
    SPLIT
    vpermd          m4, m12, m4
    vpermd          m5, m12, m5
    movu [lowq + iq * 4], m4
    movu [highq + iq * 4], m5
    NEXT            iq, wq
    RET
%endmacro

; void detailloss_coefficient_row(float *const dst[3], const float *source,
;                                 const float *encode, int w, float weight)
%macro COEFFICIENT_ROW 0
cglobal detailloss_coefficient_row, 4, 7, 8, dst0, source, encode, w, dst1, dst2, i
%if WIN64
    vbroadcastss    m0, r4m
%else
    vbroadcastss    m0, xmm0                ; xm0 may be another
%endif
    mova            m1, [f_abs]
    xorps           m2, m2
    mov          dst1q, [dst0q + 1 * gprsize]
    mov          dst2q, [dst0q + 2 * gprsize]
    mov          dst0q, [dst0q]
    BEGIN_LOOP
    movu            m3, [sourceq + iq * 4]
    movu            m4, [encodeq + iq * 4]
    COMPARE          5, lt, m3, m2
    COMPARE          6, lt, m4, m2
    MASKS_EQUAL      5, 5, 6                ; of the same sign
    andps           m3, m1
    andps           m4, m1
    mulps           m3, m0
    mulps           m4, m0
    vminps          m6, m4, m3
    MASKED          m6, m6, 5
    subps           m7, m4, m3
    movu [dst0q + iq * 4], m3
    COMPARE          3, lt, m3, m4
    MASKED          m7, m7, 3
    CHOOSE          m7, m4, m7, 5
    movu [dst1q + iq * 4], m6
    movu [dst2q + iq * 4], m7
    NEXT            iq, wq
    RET
%endmacro

; void detailloss_sum_row(float *dst, const float *const src[3], int w)
%macro SUM_ROW 0
cglobal detailloss_sum_row, 3, 6, 1, dst, src0, w, src1, src2, i
    mov          src1q, [src0q + 1 * gprsize]
    mov          src2q, [src0q + 2 * gprsize]
    mov          src0q, [src0q]
    BEGIN_LOOP
    movu            m0, [src0q + iq * 4]
    addps           m0, [src1q + iq * 4]
    addps           m0, [src2q + iq * 4]
    movu [dstq + iq * 4], m0
    NEXT            iq, wq
    RET
%endmacro

%macro ADD_ROWS 2 ; dst, offset
    movu            %1, [aboveq  + iq * 4 + %2]
    addps           %1, [middleq + iq * 4 + %2]
    addps           %1, [belowq  + iq * 4 + %2]
%endmacro

; void detailloss_mask_row(float *dst, const float *above, const float *middle,
;                          const float *below, int w)
%macro MASK_ROW 0
cglobal detailloss_mask_row, 5, 6, 4, dst, above, middle, below, w, i
    mova            m3, [f_1_30]
    BEGIN_LOOP
    ADD_ROWS        m0, -4
    ADD_ROWS        m1, 4
    ADD_ROWS        m2, 0
    addps           m0, m1
    addps           m0, m2
    addps           m0, [middleq + iq * 4]
    mulps           m0, m3
    movu [dstq + iq * 4], m0
    NEXT            iq, wq
    RET
%endmacro

; The cubes of m1, added to m0
%macro CUBES 0
    mulps           m2, m1, m1
    mulps           m1, m2, m1
    mulps           m1, m4
    UPPER_HALF       3, 1
    cvtps2pd        m2, half(1)
    cvtps2pd        m3, half(3)
    TRUNCATE        m2, m5
    TRUNCATE        m3, m5
    paddq           m0, m2
    paddq           m0, m3
%endmacro

; uint64_t detailloss_cube_row(const float *src, const float *mask, int w)
%macro CUBE_ROW 0
cglobal detailloss_cube_row, 3, 3, 6, src, mask, w
    pxor            m0, m0
    mova            m4, [cube_unit]
    mova            m5, [integer_bits]
    movsxd          wq, wd
    lea           srcq, [srcq + wq * 4]
    test         maskq, maskq
    jz .all
    lea          maskq, [maskq + wq * 4]
    neg             wq
.loop:
    movu            m1, [srcq + wq * 4]
    movu            m3, [maskq + wq * 4]
    COMPARE          2, lt, m3, m1
    subps           m1, m3
    MASKED          m1, m1, 2
    CUBES
    add             wq, LANES
    jl .loop
    jmp .end
.all:
    neg             wq
.loop_all:
    movu            m1, [srcq + wq * 4]
    CUBES
    add             wq, LANES
    jl .loop_all
.end:
    SUM_QWORDS     rax
    RET
%endmacro

; void detailloss_sum_lines(uint32_t *dst, const uint8_t *src, ptrdiff_t stride,
;                           int w, int h, int shift, int mask)
%macro SUM_LINES 2 ; bits, load
cglobal detailloss_sum_lines%1, 5, 8, 4, dst, src, stride, w, h, i, line, y
    movd           xm1, r5m
    movd           xm2, r6m
    vpbroadcastd    m2, xm2
    BEGIN_LOOP
    lea          lineq, [srcq + iq * (%1 / 8)]
    mov             yd, hd
    pxor            m0, m0
.line:
    %2              m3, [lineq]
    psrld           m3, xm1
    pand            m3, m2
    paddd           m0, m3
    add          lineq, strideq
    dec             yd
    jg .line
    movu [dstq + iq * 4], m0
    NEXT            iq, wq
    RET
%endmacro

; Pairs of two vectors, added
%macro ADD_PAIRS 2 ; dst and first vector, second vector
    shufps          m5, %1, %2, q3131
    shufps          %1, %1, %2, q2020
    paddd           %1, m5
%endmacro

; What two vectors of columns differ by, added in pairs
%macro CHANGE 3 ; dst, temporary, vector
    movu            %1, [nowq + (%3 + 0) * mmsize]
    movu            %2, [nowq + (%3 + 1) * mmsize]
    psubd           %1, [beforeq + (%3 + 0) * mmsize]
    psubd           %2, [beforeq + (%3 + 1) * mmsize]
    ADD_PAIRS       %1, %2
%endmacro

; uint64_t detailloss_motion_row(const uint32_t *now, const uint32_t *before, int w)
%macro MOTION_ROW 0
cglobal detailloss_motion_row, 3, 3, 6, now, before, w
    pxor            m0, m0
    pxor            m4, m4
.loop:
    CHANGE          m1, m2, 0
    CHANGE          m2, m3, 2
    ADD_PAIRS       m1, m2
    pabsd           m1, m1
    punpckldq       m2, m1, m4
    punpckhdq       m1, m4
    paddq           m0, m2
    paddq           m0, m1
    add           nowq, 4 * mmsize
    add        beforeq, 4 * mmsize
    sub             wd, LANES
    jg .loop
    SUM_QWORDS     rax
    RET
%endmacro

%macro DETAILLOSS_FUNCTIONS 0
LOAD_ROW  8, pmovzxbd
LOAD_ROW 16, pmovzxwd
SPLIT_COLUMNS
SPLIT_ROW
COEFFICIENT_ROW
SUM_ROW
MASK_ROW
CUBE_ROW
SUM_LINES  8, pmovzxbd
SUM_LINES 16, pmovzxwd
MOTION_ROW
%endmacro

FOR_EACH_WIDTH DETAILLOSS_FUNCTIONS

%endif
