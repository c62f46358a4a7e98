;******************************************************************************
;* Rows of VIF with AVX2
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

; Two rows or columns are filtered from the same pairs of samples by pmaddwd, whose words are signed. So
; 2^15 is subtracted from samples and from halves of products. The taps add up to 2^16: sums are less by
; 2^31, and wrap.

%include "libavutil/x86/x86util.asm"

SECTION_RODATA 32

bias:      times 16 dw 1 << 15
round8:    times 8 dd 1 << 7
round16:   times 8 dd 1 << 15
sign:      times 8 dd 1 << 31
; 2^31, and a half of 2^16
low_round: times 8 dd (1 << 31) + (1 << 15)
; statistics()
noise:     times 8 dd 2 << 16
flat_max:  times 8 dd (2 << 16) - 1
den_unit:  times 8 dd 2048 * (127 + 15 + 17)
num_unit:  times 8 dd 2048 * (1023 - 127)
last_24:   times 8 dd (1 << 24) - 1
low_7:     times 8 dd 127
low_15:    times 8 dd 0x7fff
low_16:    times 8 dd 0xffff
q_half:    times 4 dq 1 << 31
eps:       times 4 dq 65536.0e-10

; struct VIFFilter
%define FILTER_OFFSET   72
%define FILTER_NB_PAIRS 108
; bytes from the row pointers of the encode to those of the reference
%define REFERENCE       144

SECTION .text

%if ARCH_X86_64

INIT_YMM avx2

; ---- columns ----

; Pairs are at rq, their taps at tapq.
%macro BEGIN_PAIRS 1 ; number of sums
    mov             rq, rowq
    mov           tapq, filterq
    mov             nd, [filterq + FILTER_NB_PAIRS]
%assign sum_i 0
%rep %1
    pxor    m %+ sum_i, m %+ sum_i
%assign sum_i sum_i + 1
%endrep
%endmacro

%macro LOAD_TAPS 0
    vpbroadcastd   m12, [tapq]
    vpbroadcastd   m13, [tapq + 4]
%endmacro

%macro END_PAIRS 1 ; label
    add             rq, 2 * gprsize
    add           tapq, 8
    dec             nd
    jg %1
%endmacro

; Samples of more bits than 8 are shifted up to 16. Bits beyond the depth do not count.
%macro LOAD_SAMPLES 3 ; dst, bits, pointer of the row
    mov             aq, %3
%if %2 == 8
    pmovzxbw        %1, [aq + xq]
%else
    movu            %1, [aq + xq * 2]
    psllw           %1, xm15
%endif
%endmacro

; Add a pair of rows to the sums of two outputs, each of a lower and an upper part.
%macro ADD_PAIR 7 ; row, row, temporary, 4 * sum
    punpckhwd       %3, %1, %2
    punpcklwd       %1, %1, %2
    pmaddwd         %2, %1, m12
    paddd           %4, %2
    pmaddwd         %2, %3, m12
    paddd           %5, %2
    pmaddwd         %1, m13
    paddd           %6, %1
    pmaddwd         %3, m13
    paddd           %7, %3
%endmacro

%macro STORE_MEAN 4 ; address, bits, sum
%if %2 == 8
    paddd           %3, [round8]
    paddd           %4, [round8]
    psrld           %3, 8
    psrld           %4, 8
    packusdw        %3, %4
    pxor            %3, [bias]
%else
    paddd           %3, [round16]
    paddd           %4, [round16]
    psrad           %3, 16
    psrad           %4, 16
    packssdw        %3, %4
%endif
    movu            %1, %3
%endmacro

; The samples of both pictures, or 8-bit ones squared, to m0 to m3 and m4 to m7
%macro FILTER_BOTH 2 ; bits, whether they are squared
    BEGIN_PAIRS      8
%%loop:
    LOAD_TAPS
    LOAD_SAMPLES    m8, %1, [rq]
    LOAD_SAMPLES    m9, %1, [rq + gprsize]
    LOAD_SAMPLES   m10, %1, [rq + REFERENCE]
    LOAD_SAMPLES   m11, %1, [rq + REFERENCE + gprsize]
%if %2
    pmullw          m8, m8
    pmullw          m9, m9
    pmullw         m10, m10
    pmullw         m11, m11
%endif
%if %1 == 16 || %2
    pxor            m8, [bias]
    pxor            m9, [bias]
    pxor           m10, [bias]
    pxor           m11, [bias]
%endif
    ADD_PAIR        m8,  m9, m14, m0, m1, m2, m3
    ADD_PAIR       m10, m11, m14, m4, m5, m6, m7
    END_PAIRS   %%loop
%endmacro

%macro MEANS 1 ; bits
    FILTER_BOTH     %1, 0
    STORE_MEAN [p0q], %1, m0, m1
    STORE_MEAN [p1q], %1, m2, m3
    STORE_MEAN [p0q + strideq], %1, m4, m5
    STORE_MEAN [p1q + strideq], %1, m6, m7
    lea            p0q, [p0q + strideq * 2]
    lea            p1q, [p1q + strideq * 2]
%endmacro

; %1 = sums of the lower halves of products, rounded and shifted, and of the upper ones, %2
%macro JOIN_HALVES 2
    paddd           %1, [low_round]
    psrld           %1, 16
    paddd           %1, %2
%endmacro

; Split mean squares into halves.
%macro STORE_SQUARE 3 ; pointer, sum
    pxor           m14, m14
    pblendw         m8, %2, m14, 0xaa
    pblendw         m9, %3, m14, 0xaa
    packusdw        m8, m9
    pxor            m8, [bias]
    movu          [%1], m8
    psrad           %2, 16
    psrad           %3, 16
    packssdw        %2, %3
    movu [%1 + strideq], %2
    lea             %1, [%1 + strideq * 2]
%endmacro

; Products of the samples of two pictures
%macro PRODUCTS 3 ; bits, offsets of their row pointers
%if %1 == 8
    BEGIN_PAIRS      4
%else
    BEGIN_PAIRS      8
%endif
%%loop:
    LOAD_TAPS
    LOAD_SAMPLES    m8, %1, [rq + %2]
    LOAD_SAMPLES    m9, %1, [rq + %2 + gprsize]
%if %2 == %3
    mova           m11, m8
    mova           m14, m9
%else
    LOAD_SAMPLES   m11, %1, [rq + %3]
    LOAD_SAMPLES   m14, %1, [rq + %3 + gprsize]
%endif
%if %1 == 16
    pmulhuw        m10, m8, m11
%endif
    pmullw          m8, m11
%if %1 == 16
    pmulhuw        m11, m9, m14
%endif
    pmullw          m9, m14
    pxor            m8, [bias]
    pxor            m9, [bias]
    ADD_PAIR        m8,  m9, m14, m0, m1, m2, m3
%if %1 == 16
    pxor           m10, [bias]
    pxor           m11, [bias]
    ADD_PAIR       m10, m11, m14, m4, m5, m6, m7
%endif
    END_PAIRS   %%loop
%if %1 == 16
    JOIN_HALVES     m0, m4
    JOIN_HALVES     m1, m5
    JOIN_HALVES     m2, m6
    JOIN_HALVES     m3, m7
%endif
    STORE_SQUARE   p0q, m0, m1
    STORE_SQUARE   p1q, m2, m3
%endmacro

; void vmaf_vif_vertical(int16_t *dst[2], ptrdiff_t stride, const uint8_t *const (*row)[18],
;                        const VIFFilter *filter, int shift, int w)
%macro VERTICAL 1 ; bits
cglobal vmaf_vif_vertical%1, 6, 13, 16, dst0, stride, row, filter, a, w, dst1, x, p0, p1, r, tap, n
    movd          xm15, ad
    mov          dst1q, [dst0q + gprsize]
    mov          dst0q, [dst0q]
    add        strideq, strideq
    xor             xd, xd
.loop:
    lea            p0q, [dst0q + xq * 2]
    lea            p1q, [dst1q + xq * 2]
    MEANS           %1
%if %1 == 8
    FILTER_BOTH      8, 1
    STORE_SQUARE   p0q, m0, m1
    STORE_SQUARE   p1q, m2, m3
    STORE_SQUARE   p0q, m4, m5
    STORE_SQUARE   p1q, m6, m7
%else
    PRODUCTS        %1, 0, 0
    PRODUCTS        %1, REFERENCE, REFERENCE
%endif
    PRODUCTS        %1, 0, REFERENCE
    add             xd, 16
    cmp             xd, wd
    jge .end
    ; the last vector may overlap the one before
    lea             ad, [wq - 16]
    cmp             xd, ad
    cmovg           xd, ad
    jmp .loop
.end:
    RET
%endmacro

VERTICAL 8
VERTICAL 16

; ---- rows ----

; Filter two rows: sums of 16 even and 16 odd outputs to m0 and m1, m2 and m3, and of the other row to m4
; and m5, m6 and m7.
%macro FILTER_ROWS 0
    lea         src2q, [srcq + strideq * 2]
    xor            nd, nd
%assign sum_i 0
%rep 8
    pxor    m %+ sum_i, m %+ sum_i
%assign sum_i sum_i + 1
%endrep
%%loop:
    movsxd         oq, dword [filterq + FILTER_OFFSET + nq * 4]
    vpbroadcastd  m12, [filterq + nq * 8]
    vpbroadcastd  m13, [filterq + nq * 8 + 4]
    FILTER_32    srcq, m0, m1, m2, m3
    FILTER_32   src2q, m4, m5, m6, m7
    inc            nd
    cmp            nd, nb_pairsd
    jl %%loop
    lea          srcq, [srcq + strideq * 4]
%endmacro

%macro FILTER_32 5 ; row, 4 * sum
    movu           m8, [%1 + oq * 2]
    movu           m9, [%1 + oq * 2 + mmsize]
    pmaddwd       m10, m8, m12
    pmaddwd        m8, m13
    pmaddwd       m11, m9, m12
    pmaddwd        m9, m13
    paddd          %2, m10
    paddd          %3, m8
    paddd          %4, m11
    paddd          %5, m9
%endmacro

; Interleave even and odd outputs.
%macro STORE_OUTPUTS 3 ; address, even, odd
    punpckldq       m8, %2, %3
    punpckhdq       m9, %2, %3
    movu          [%1], xm8
    movu     [%1 + 16], xm9
    vextracti128 [%1 + 32], m8, 1
    vextracti128 [%1 + 48], m9, 1
%endmacro

; void vmaf_vif_horizontal(uint32_t *dst, const int16_t *src, ptrdiff_t stride,
;                          const VIFFilter *filter, int w)
cglobal vmaf_vif_horizontal, 5, 11, 15, dst, src, stride, filter, w, n, o, nb_pairs, next_src, p, src2
    mova           m14, [sign]
    mov      nb_pairsd, [filterq + FILTER_NB_PAIRS]
.loop:
    lea      next_srcq, [srcq + 64]
    mov             pq, dstq
    FILTER_ROWS
%assign sum_i 0
%rep 8
    pxor    m %+ sum_i, m14
%assign sum_i sum_i + 1
%endrep
    STORE_OUTPUTS pq, m0, m1
    STORE_OUTPUTS pq + 64, m2, m3
    lea             pq, [pq + strideq * 4]
    STORE_OUTPUTS pq, m4, m5
    STORE_OUTPUTS pq + 64, m6, m7
%rep 3
    lea             pq, [pq + strideq * 4]
    FILTER_ROWS
    JOIN_HALVES     m0, m4
    JOIN_HALVES     m1, m5
    JOIN_HALVES     m2, m6
    JOIN_HALVES     m3, m7
    pxor            m0, m14
    pxor            m1, m14
    pxor            m2, m14
    pxor            m3, m14
    STORE_OUTPUTS pq, m0, m1
    STORE_OUTPUTS pq + 64, m2, m3
%endrep
    mov           srcq, next_srcq
    add           dstq, 128
    sub             wd, 32
    jg .loop
    RET

; ---- statistics ----

; Rounded upper half of the products of means
%macro MEAN_PRODUCT 5 ; dst, even, odd, even, odd
    pmuludq         %1, %2, %4
    pmuludq         %3, %3, %5
    paddq           %1, [q_half]
    paddq           %3, [q_half]
    psrlq           %1, 32
    vpblendd        %1, %1, %3, 0xaa
%endmacro

; Look up the 15 bits below the leading one of floats, and add 2048 times the exponent.
%macro LOOK_UP 5 ; dst, bits, shift of the exponent, temporary, temporary
    psrld           %4, %2, %3 - 15
    pand            %4, [low_15]
    psrld           %2, %3
    pslld           %2, 11
    pcmpeqd         %5, %5
    vpgatherdd      %1, [tableq + %4 * 2], %5
    pand            %1, [low_16]
    paddd           %1, %2
%endmacro

; Logarithm of integers from 2^17 to 2^31 - 1. What a float cannot hold does not count.
%macro LOG2 4 ; dst, src, temporary, temporary
    pcmpgtd         %3, %2, [last_24]
    pand            %3, [low_7]
    pandn           %2, %3, %2
    cvtdq2ps        %2, %2
    LOOK_UP         %1, %2, 23, %3, %4
%endmacro

; vif_numerator() of four pixels: noise to xm%1, signal as double to m%2
%macro NUMERATOR 4 ; noise, variances of the reference and of the encode, covariance
    cvtdq2pd        m8, %2
    cvtdq2pd        m9, %4
    addpd          m10, m8, [eps]
    divpd          m10, m9, m10
    mulpd           m9, m10
    minpd          m10, m11
    mulpd          m10, m10
    mulpd          m10, m8
    roundpd        m10, m10, 3
    cvtdq2pd        m8, %3
    subpd           m8, m9
    cvttpd2dq     xm%1, m8
    pxor           xm8, xm8
    pmaxsd        xm%1, xm8
    paddd         xm%1, [noise]
    cvtdq2pd        m8, xm%1
    addpd          m10, m8
%endmacro

; Add a vector of 32 bits to a sum.
%macro ADD_SUM 2 ; address, number of the register
    HADDD         m%2, m0
    movd            wd, xm%2
    movsxd          wq, wd
    add             %1, wq
%endmacro

; void vmaf_vif_statistics(VIFScaleSums *sums, uint32_t *src, ptrdiff_t stride,
;                          const uint16_t *log2_table, const double *gain_limit, int w)
cglobal vmaf_vif_statistics, 6, 8, 16, sums, src, stride, table, gain, w, stride3, t
    shl        strideq, 2
    lea       stride3q, [strideq * 3]
    vbroadcastsd   m11, [gainq]
    ; pixels of zeros behind the row are flat
    movsxd          wq, wd
    add [sumsq + 24], wq
    lea             tq, [srcq + wq * 4]
    pxor            m0, m0
    movu          [tq], m0
    movu [tq + strideq], m0
    movu [tq + strideq * 2], m0
    movu [tq + stride3q], m0
    movu [tq + strideq * 4], m0
    pxor           m12, m12                 ; num_log
    pxor           m13, m13                 ; den_log
    pxor           m14, m14                 ; num_non_log
    pxor           m15, m15                 ; pixels with logarithms, negative
.loop:
    movu            m0, [srcq]
    movu            m1, [srcq + strideq]
    psrlq           m2, m0, 32
    psrlq           m3, m1, 32
    mova            m6, m2
    MEAN_PRODUCT    m4, m0, m6, m0, m2
    mova            m6, m3
    MEAN_PRODUCT    m5, m1, m6, m1, m3
    MEAN_PRODUCT    m6, m0, m2, m1, m3
    pxor            m7, m7
    movu            m1, [srcq + strideq * 2]
    psubd           m1, m4
    pmaxsd          m1, m7                  ; variance of the encode
    movu            m0, [srcq + stride3q]
    psubd           m0, m5                  ; of the reference
    movu            m2, [srcq + strideq * 4]
    psubd           m2, m6                  ; covariance
    pcmpgtd         m3, m0, [flat_max]
    pandn           m4, m3, m1
    psrlq           m5, m4, 32
    vpblendd        m4, m4, m7, 0xaa
    paddq          m14, m5
    paddq          m14, m4
    paddd          m15, m3
    ptest           m3, m3
    jz .next
    pand            m0, m3
    paddd           m4, m0, [noise]
    LOG2            m5, m4, m6, m8
    paddd          m13, m5
    psubd          m13, [den_unit]
    pcmpgtd         m4, m2, m7
    pcmpgtd         m5, m1, m7
    pand            m2, m3
    pand            m4, m5
    pand            m2, m4
    NUMERATOR        3, xm0, xm1, xm2
    mova            m4, m10
    vextracti128   xm0, m0, 1
    vextracti128   xm1, m1, 1
    vextracti128   xm2, m2, 1
    NUMERATOR        5, xm0, xm1, xm2
    vinserti128     m3, m3, xm5, 1
    shufps          m4, m4, m10, q3131
    vpermq          m4, m4, q3120
    LOOK_UP         m5, m4, 20, m6, m8
    LOG2            m4, m3, m6, m8
    paddd          m12, m5
    psubd          m12, m4
    psubd          m12, [num_unit]
.next:
    add           srcq, mmsize
    sub             wd, 8
    jg .loop
    ADD_SUM    [sumsq], 12
    ADD_SUM [sumsq + 8], 13
    ADD_SUM [sumsq + 24], 15
    vextracti128   xm0, m14, 1
    paddq          xm0, xm14
    movhlps        xm1, xm0
    paddq          xm0, xm1
    movq            wq, xm0
    add [sumsq + 16], wq
    RET

%endif ; ARCH_X86_64
