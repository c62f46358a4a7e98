;*****************************************************************************
;* What the filters that take rows of floats 8 or 16 at a time have in common
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

%macro CONST 2 ; name, value
%1: times 16 dd %2
%endmacro

%macro CONST_Q 2
%1: times 8 dq %2
%endmacro

SECTION_RODATA 64

CONST   f_abs,        0x7fffffff
CONST   all_bits,     -1
; 2^52: added to an integer below it, that is in the lower bits of the sum
CONST_Q integer_bits, 0x1p52
even_dwords: dd 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
odd_dwords:  dd 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31

%define LANES (mmsize / 4)

; The functions for AVX2 and AVX-512. half() is a vector's lower half.
%macro FOR_EACH_WIDTH 1 ; macro that has the functions
INIT_YMM avx2
%define half(number) xm %+ number
    %1
%if HAVE_AVX512ICL_EXTERNAL
INIT_ZMM avx512icl
%define half(number) ym %+ number
    %1
%endif
%endmacro

; To the next vector, or to the last vector, or on.
%macro NEXT 2 ; index, index of the last vector
    add             %1, LANES
    cmp             %1, %2
    jle .loop
    sub             %1, %2
    cmp             %1, LANES
    mov             %1, %2
    jne .loop
%endmacro

; Doubles from 0 to below 2^52, as int64_t does, towards 0.
%macro TRUNCATE 2 ; doubles, integer_bits
%if mmsize == 64
    vcvttpd2qq      %1, %1
%else
    roundpd         %1, %1, 3
    addpd           %1, %2
    pxor            %1, %2
%endif
%endmacro

%macro UPPER_HALF 2 ; dst, src, both by number
%if mmsize == 64
    vextracti64x4 ym%1, m%2, 1
%else
    vextracti128  xm%1, m%2, 1
%endif
%endmacro

; The even and the odd elements of two vectors of 32 bits
%macro UNZIP 4 ; even and first vector, odd, second vector, temporary
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

; The sum of the quadwords of m0, m1 is temporary
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

; Masks are named by number: k1, k2, ... or, of eight, m1, m2, ...
%macro COMPARE 4 ; mask, lt or le, a, b
%if mmsize == 64
    vcmp%{2}ps     k%1, %3, %4
%else
    cmp%{2}ps      m%1, %3, %4
%endif
%endmacro

%macro MASKS_EQUAL 3 ; dst, masks
%if mmsize == 64
    kxnorw         k%1, k%2, k%3
%else
    pcmpeqd        m%1, m%2, m%3
%endif
%endmacro

; 0 where the mask is not set
%macro MASKED 3 ; dst, src, mask
%if mmsize == 64
    vmovaps         %1 {k%3}{z}, %2
%else
    andps           %1, %2, m%3
%endif
%endmacro

%macro CHOOSE 4 ; dst, where the mask is not set, where it is, mask
%if mmsize == 64
    vpblendmd       %1 {k%4}, %2, %3
%else
    vblendvps       %1, %2, %3, m%4
%endif
%endmacro

%macro MOVE_MASK 2 ; dst, mask
%if mmsize == 64
    kmovw           %1, k%2
%else
    movmskps        %1, m%2
%endif
%endmacro

; Constant masks: k1, k2, ... or mask1, mask2, ...
%macro SET_MASK 3 ; mask, bits, temporary register
%if mmsize == 64
    mov             %3, %2
    kmovw          k%1, %3
%else
    %assign mask%1 (%2) & 0xff
%endif
%endmacro

%macro BLEND 4 ; dst, where the mask is not set, where it is, mask
%if mmsize == 64
    vpblendmd       %1 {k %+ %4}, %2, %3
%else
    vpblendd        %1, %2, %3, mask %+ %4
%endif
%endmacro
