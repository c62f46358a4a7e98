;*****************************************************************************
;* What the filters that take rows of floats eight at a time have in common
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
%1: times 8 dd %2
%endmacro

SECTION_RODATA 32

CONST f_abs, 0x7fffffff
; 2^52: added to an integer below it, that is in the lower bits of the sum
integer_bits: times 4 dq 0x1p52

; To the next eight, or to the last eight, or on.
%macro NEXT8 2 ; index, index of the last eight
    add             %1, 8
    cmp             %1, %2
    jle .loop
    sub             %1, %2
    cmp             %1, 8
    mov             %1, %2
    jne .loop
%endmacro

; Doubles from 0 to below 2^52, as int64_t does, towards 0.
%macro TRUNCATE 2 ; doubles, integer_bits
    roundpd         %1, %1, 3
    addpd           %1, %2
    pxor            %1, %2
%endmacro
