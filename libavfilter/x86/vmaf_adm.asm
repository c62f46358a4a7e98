;*****************************************************************************
;* Row functions of VMAF's ADM
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

; Rows of ADM, 8 or 16 samples at a time. Widths need not be multiples of these: what lies behind a
; row is its own, but for lines of frames, whose last vector may overlap the one before.

%include "libavutil/x86/x86util.asm"

SECTION_RODATA 32

; the wavelet's taps, and pairs of them for pmaddwd
tap0:      times 4 dq 15826
tap1:      times 4 dq 27411
tap2:      times 4 dq 7345
tap3:      times 4 dq -4240
minus0:    times 4 dq -15826
minus2:    times 4 dq -7345
low01:     times 8 dw  15826,  27411
low23:     times 8 dw   7345,  -4240
high01:    times 8 dw  -4240,  -7345
high23:    times 8 dw  27411, -15826
round16:   times 8 dd 1 << 15
; decouple()
one:       times 8 dd 1
f_one:     times 8 dd 1.0
f_2_30:    times 8 dd 0x1.fffffcp29
i_2_30:    times 8 dd 1 << 30
f_half:    times 8 dd 0x1p-16
unity:     times 8 dd 1 << 15
half15:    times 8 dd 1 << 14
q_half15:  times 4 dq 1 << 14
q_half28:  times 4 dq 1 << 27
q_half32:  times 4 dq 1 << 31
top_15:    times 8 dd 127 + 14              ; a float's exponent whose number has 15 bits
half_d:    times 8 dd 65535
mask_tap:  times 8 dd 4369
half12:    times 8 dd 1 << 11
half11:    times 8 dd 1 << 10
minus3:    times 8 dd -3
neighbour_tap:  times 4 dq 143165577
centre_tap:  times 4 dq 286331153
; the first w of 8 are at 32 - 4 * w
in_row:    times 8 dd -1
           times 8 dd 0

SECTION .text

%if ARCH_X86_64

INIT_YMM avx2

; ---- DWT ----

%macro LOAD_LINES 0
    mov         line1q, [line0q + 1 * gprsize]
    mov         line2q, [line0q + 2 * gprsize]
    mov         line3q, [line0q + 3 * gprsize]
    mov         line0q, [line0q]
%endmacro

; The pairs of taps to m8 to m11
%macro LOAD_PAIRS 0
    mova            m8, [low01]
    mova            m9, [low23]
    mova           m10, [high01]
    mova           m11, [high23]
%endmacro

; %1 = 2^shift / 2 as quadwords
%macro SET_HALF 2 ; dst, shift
    pcmpeqd         %1, %1
    psrlq           %1, 63
    psllq           %1, %2
    psrlq           %1, 1
%endmacro

; The sums m6 and m7 of the products of pairs of words, m0 and m2, m4 and m5, with m13 and a shift
%macro FILTER_WORDS 3 ; taps, shift
    pmaddwd         m6, m0, %1
    pmaddwd         m7, m2, %2
    paddd           m6, m7
    pmaddwd         m7, m4, %1
    pmaddwd         m1, m5, %2
    paddd           m7, m1
    paddd           m6, m13
    paddd           m7, m13
    psrad           m6, %3
    psrad           m7, %3
%endmacro

; Load samples as words. In those of 16 bits, bits beyond the depth do not count.
%macro LOAD_SAMPLES8 2
    pmovzxbw        %1, %2
%endmacro

%macro LOAD_SAMPLES16 2
    pand            %1, m15, %2
%endmacro

; void vmaf_adm_dwt_vertical(int16_t *low, int16_t *high, const void *const line[4], int depth, int w)
%macro DWT_VERTICAL 1 ; bits
cglobal vmaf_adm_dwt_vertical%1, 5, 9, 16, low, high, line0, depth, w, line1, line2, line3, x
    LOAD_LINES
    movd          xm14, depthd
    mova           m13, [one]
    pslld          m13, xm14
    psrld          m13, 1
    packusdw       m12, m13, m13            ; the middle of the range
%if %1 == 16
    pcmpeqw        m15, m15
    paddw          m15, m12
    paddw          m15, m12                 ; the largest sample
%endif
    LOAD_PAIRS
    movsxd          wq, wd
    sub             wq, 16
    xor             xd, xd
.loop:
    LOAD_SAMPLES%1   m0, [line0q + xq * (%1 / 8)]
    LOAD_SAMPLES%1   m1, [line1q + xq * (%1 / 8)]
    LOAD_SAMPLES%1   m2, [line2q + xq * (%1 / 8)]
    LOAD_SAMPLES%1   m3, [line3q + xq * (%1 / 8)]
    psubw           m0, m12
    psubw           m1, m12
    psubw           m2, m12
    psubw           m3, m12
    punpckhwd       m4, m0, m1
    punpcklwd       m0, m0, m1
    punpckhwd       m5, m2, m3
    punpcklwd       m2, m2, m3
    FILTER_WORDS     m8, m9, xm14
    packssdw        m6, m7
    movu [lowq + xq * 2], m6
    FILTER_WORDS    m10, m11, xm14
    packssdw        m6, m7
    movu [highq + xq * 2], m6
    add             xq, 16
    cmp             xq, wq
    jle .loop
    sub             xq, wq
    cmp             xq, 16
    mov             xq, wq
    jne .loop
    RET
%endmacro

DWT_VERTICAL 8
DWT_VERTICAL 16

; Four products of quadwords
%macro FILTER_QWORDS 10 ; dst, temporary, 4 * src, 4 * taps
    pmuldq          %1, %3, %7
    pmuldq          %2, %4, %8
    paddq           %1, %2
    pmuldq          %2, %5, %9
    paddq           %1, %2
    pmuldq          %2, %6, %10
    paddq           %1, %2
%endmacro

; The sums of products of the even and the odd elements
%macro FILTER_WIDE 5 ; dst, 4 * taps
    FILTER_QWORDS    m8, m9, m0, m1, m2, m3, %2, %3, %4, %5
    FILTER_QWORDS   m10, m9, m4, m5, m6, m7, %2, %3, %4, %5
    paddq           m8, m15
    paddq          m10, m15
    psrlq           m8, xm11
    psllq          m10, xm13
    vpblendd        m8, m8, m10, 0xaa
    movu            %1, m8
%endmacro

; void vmaf_adm_dwt_vertical(int32_t *low, int32_t *high, const int32_t *const line[4],
;                            int shift, int w)
cglobal vmaf_adm_dwt_vertical, 5, 9, 16, low, high, line0, x, w, line1, line2, line3, t
    LOAD_LINES
    movd          xm11, xd
    mov             td, 32
    sub             td, xd
    movd          xm13, td
    SET_HALF       m15, xm11
    mova           m12, [tap1]
    mova           m14, [tap3]
    xor             xd, xd
.loop:
%assign line_i 0
%rep 4
    movu       m %+ line_i, [line %+ line_i %+ q + xq * 4]
%assign line_j line_i + 4
    psrlq      m %+ line_j, m %+ line_i, 32
%assign line_i line_i + 1
%endrep
    FILTER_WIDE [lowq + xq * 4], [tap0], m12, [tap2], m14
    FILTER_WIDE [highq + xq * 4], m14, [minus2], m12, [minus0]
    add             xd, 8
    cmp             xd, wd
    jl .loop
    RET

; void vmaf_adm_dwt_horizontal0(int32_t *low, int32_t *high, const int16_t *src, int shift, int w)
cglobal vmaf_adm_dwt_horizontal0, 5, 5, 14, low, high, src, x, w
    LOAD_PAIRS
    mova           m13, [round16]
    xor             xd, xd
.loop:
    movu            m0, [srcq + xq * 4 - 2]
    movu            m2, [srcq + xq * 4 + 2]
    movu            m4, [srcq + xq * 4 + 30]
    movu            m5, [srcq + xq * 4 + 34]
    FILTER_WORDS     m8, m9, 16
    movu [lowq + xq * 4], m6
    movu [lowq + xq * 4 + mmsize], m7
    FILTER_WORDS    m10, m11, 16
    movu [highq + xq * 4], m6
    movu [highq + xq * 4 + mmsize], m7
    add             xd, 16
    cmp             xd, wd
    jl .loop
    RET

; void vmaf_adm_dwt_horizontal(int32_t *low, int32_t *high, const int32_t *src, int shift, int w)
%macro DWT_HORIZONTAL 3 ; low, high, src
    movu            m0, [%3 - 4]
    movu            m1, [%3]
    movu            m2, [%3 + 4]
    movu            m3, [%3 + 8]
    FILTER_QWORDS    %1, m8, m0, m1, m2, m3, m10, m11, m12, m13
    FILTER_QWORDS    %2, m8, m0, m1, m2, m3, m13, [minus2], m11, [minus0]
    paddq           %1, m14
    paddq           %2, m14
    psrlq           %1, xm15
    psrlq           %2, xm15
%endmacro

cglobal vmaf_adm_dwt_horizontal, 5, 6, 16, low, high, src, shift, w, x
    movd          xm15, shiftd
    SET_HALF       m14, xm15
    mova           m10, [tap0]
    mova           m11, [tap1]
    mova           m12, [tap2]
    mova           m13, [tap3]
    xor             xd, xd
.loop:
    DWT_HORIZONTAL       m4, m6, srcq + xq * 8
    DWT_HORIZONTAL       m5, m7, srcq + xq * 8 + 32
    shufps          m4, m4, m5, q2020
    shufps          m6, m6, m7, q2020
    vpermq          m4, m4, q3120
    vpermq          m6, m6, q3120
    movu [lowq + xq * 4], m4
    movu [highq + xq * 4], m6
    add             xd, 8
    cmp             xd, wd
    jl .loop
    RET

; ---- decoupling ----

; Add the masking by m%1 to cm_row and to cm_centre_excess; m3 is temporary
%macro MASK0 4 ; value, cm_row, cm_centre_excess, band
%if %4 == 2
    paddd           %1, [half_d]
    psrad           %1, 17
%else
    paddd           %1, [half15]
    psrad           %1, 15
%endif
    pabsd           %1, %1
    pmaddwd         %1, [mask_tap]
    paddd           m3, %1, [half12]
    psrld           m3, 12
    paddd           %2, m3
    paddd           %1, [half11]            ; twice the tap
    psrld           %1, 11
    pslld           %1, 16
    psrad           %1, 16
    psubd           %1, m3
    paddd           %3, %1
%endmacro

; The products of m%1 and m%2, rounded and shifted; temporary: m%3, m%4
%macro SCALE 6 ; value, factor, temporary, temporary, half, shift
    psrlq           %3, %1, 32
    psrlq           %4, %2, 32
    pmuldq          %1, %2
    pmuldq          %3, %4
    paddq           %1, %5
    paddq           %3, %5
    psrlq           %1, %6
    psllq           %3, 32 - %6
    vpblendd        %1, %1, %3, 0xaa
%endmacro

; %1 * %4 + 2^31 >> 32
%macro UPPER_PRODUCT 5 ; dst, even, odd, factor, temporary
    pmuludq         %5, %2, %4
    pmuludq         %1, %3, %4
    paddq           %5, m10
    paddq           %1, m10
    psrlq           %5, 32
    vpblendd        %1, %5, %1, 0xaa
%endmacro

%macro MASK 3 ; value, cm_row, cm_centre_excess
    pabsd           %1, %1
    psrlq           m3, %1, 32
    UPPER_PRODUCT   m4, %1, m3, [neighbour_tap], m5
    UPPER_PRODUCT   m6, %1, m3, [centre_tap], m5
    paddd           %2, m4
    psubd           m6, m4
    paddd           %3, m6
%endmacro

; Decouple a band's coefficients, m0 of the reference and m1 of the encode
%macro BAND 2 ; band, whether the scale is the first
    movu            m0, [rq + strideq * %1]
    movu            m1, [eq + strideq * %1]
    pabsd           m2, m0
    pabsd           m3, m1
%if %2
    pmaxsd          m5, m2, [one]
%else
    psrld           m4, m2, 1
    pandn           m4, m4, m2
    cvtdq2ps        m4, m4
    psrld           m4, 23
    psubd           m4, [top_15]
    pxor            m5, m5
    pmaxsd          m4, m5                  ; bits above 15
    mova            m5, [one]
    vpsllvd         m6, m5, m4
    psrld           m6, 1
    paddd           m6, m2
    vpsrlvd         m6, m6, m4
    pmaxud          m5, m6
%endif
    paddd           m2, m2
    pminud          m3, m2                  ; with any more the ratio is 1, too
    ; m6 = 2^30 / m5, rounded down
    cvtdq2ps        m6, m5
    mova            m8, [f_one]
    divps           m8, m6
    mulps           m6, m8, [f_2_30]
    cvttps2dq       m6, m6
    pmulld          m5, m6
    mova            m7, [i_2_30]
    psubd           m7, m5
    cvtdq2ps        m7, m7
    mulps           m7, m8
    addps           m7, [f_half]
    cvttps2dq       m7, m7
    paddd           m6, m7
    ; the ratio
%if %2
    pmulld          m6, m3
    paddd           m6, [half15]
    psrld           m6, 15
%else
    mova            m9, [q_half15]
    pxor            m7, m7
    vpblendd        m7, m4, m7, 0xaa
    psrlq           m4, 32
    psrlq           m8, m6, 32
    psrlq           m2, m3, 32
    pmuludq         m6, m3
    pmuludq         m8, m2
    vpsllvq         m2, m9, m7
    vpsllvq         m9, m9, m4
    paddq           m6, m2
    paddq           m8, m9
    vpsrlvq         m6, m6, m7
    vpsrlvq         m8, m8, m4
    psrlq           m6, 15
    psllq           m8, 17
    vpblendd        m6, m6, m8, 0xaa
%endif
    pminud          m6, [unity]
    pxor            m7, m0, m1
    psrad           m7, 31
    pandn           m6, m7, m6
    ; restored part, m7
%if %2
    pmulld          m7, m6, m0
    paddd           m7, [half15]
    psrad           m7, 15
%else
    mova            m7, m6
    SCALE           m7, m0, m4, m8, [q_half15], 15
%endif
    ; within one degree, no more than the reference by the gain
    pabsd           m4, m7
    vpbroadcastd    m3, [scaleq + 20]
    pminud          m4, m3
    vpbroadcastd    m3, [scaleq + 16]
    pmulld          m4, m3
    pabsd           m3, m1
    pminud          m4, m3
    psignd          m4, m7
    pblendvb        m7, m7, m4, m15
    psubd           m1, m7                  ; additive impairment
    vpbroadcastd    m2, [scaleq + %1 * 4]
%if %2
    pmulld          m7, m2
    pmulld          m1, m2
%else
    SCALE           m7, m2, m3, m4, [q_half28], 28
    SCALE           m1, m2, m3, m4, [q_half28], 28
%endif
    movu [dstq   + strideq * %1], m7
    movu [additiveq + strideq * %1], m1
%if %2
    MASK0           m7, m11, m12, %1
    MASK0           m1, m13, m14, %1
%else
    MASK            m7, m11, m12
    MASK            m1, m13, m14
%endif
%endmacro

; void vmaf_adm_decouple(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
;                        const int32_t *angle_flag, const ADMScale *scale, int w)
%macro DECOUPLE 2 ; suffix, whether the scale is the first
cglobal vmaf_adm_decouple%1, 6, 9, 16, dst, e, stride, aligned, scale, w, r, additive, stride3
    shl        strideq, 2
    lea       stride3q, [strideq * 3]
    lea             rq, [eq   + stride3q]
    lea         additiveq, [dstq + stride3q]
    mova           m10, [q_half32]
.loop:
    movu           m15, [alignedq]
%if %2
    pxor           m11, m11
%else
    mova           m11, [minus3]            ; a half less for each band
%endif
    pxor           m12, m12
    mova           m13, m11
    pxor           m14, m14
    BAND             0, %2
    BAND             1, %2
    BAND             2, %2
    movu [additiveq + stride3q],     m11
    movu [additiveq + strideq * 4],  m13
    movu [dstq   + strideq * 8],  m12
    movu [additiveq + stride3q * 2], m14
    add             rq, mmsize
    add             eq, mmsize
    add           dstq, mmsize
    add         additiveq, mmsize
    add       alignedq, mmsize
    sub             wd, 8
    jg .loop
    RET
%endmacro

DECOUPLE 0, 1
DECOUPLE  , 0

; ---- Minkowski pooling ----

; uint64_t vmaf_adm_minkowski_sum(const int32_t *value, const int32_t *threshold,
;                                 const ADMCubeShifts *shifts, int w)
cglobal vmaf_adm_minkowski_sum, 4, 5, 16, value, threshold, shifts, w, t
    movd           xm8, [shiftsq]             ; unit
    vpbroadcastd    m9, [shiftsq + 4]
    psrlq           m9, 32                  ; round
    movd          xm10, [shiftsq + 8]         ; square_shift
    movd          xm12, [shiftsq + 12]        ; shift
    SET_HALF       m11, xm12
    pxor           m14, m14
    pxor            m0, m0
    pcmpeqd        m15, m15
    movsxd          wq, wd
    lea         valueq, [valueq + wq * 4]
    lea     thresholdq, [thresholdq + wq * 4]
    neg             wq
.loop:
    cmp             wq, -8
    jle .whole
    lea             tq, [in_row + 32]
    movu           m15, [tq + wq * 4]
.whole:
    movu            m2, [thresholdq + wq * 4]
    pslld           m2, xm8
    pabsd           m1, [valueq + wq * 4]
    psubd           m1, m2
    pmaxsd          m1, m14
    pand            m1, m15
    psrlq           m2, m1, 32
    pmuludq         m3, m1, m1
    pmuludq         m4, m2, m2
    paddq           m3, m9
    paddq           m4, m9
    psrlq           m3, xm10
    psrlq           m4, xm10
    pmuludq         m3, m1
    pmuludq         m4, m2
    paddq           m3, m11
    paddq           m4, m11
    psrlq           m3, xm12
    psrlq           m4, xm12
    paddq           m0, m3
    paddq           m0, m4
    add             wq, 8
    jl .loop
    vextracti128   xm1, m0, 1
    paddq          xm0, xm1
    pshufd         xm1, xm0, q1032
    paddq          xm0, xm1
    movq           rax, xm0
    RET

%endif ; ARCH_X86_64
