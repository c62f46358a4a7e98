# Draws the held-out predictions: gnuplot -c plot.gp predictions.csv predictions.png
# SPDX-License-Identifier: LGPL-2.1-or-later
set terminal pngcairo size 1000,500 font ",10"
set output ARG2
set datafile separator ","
set xrange [0:100]
set yrange [-10:110]
set xlabel "label: 0 is best"
set key top left
set multiplot layout 1,2
is(kind, row) = strcol(1) eq kind ? row : NaN
is_encode = "strcol(4) =~ ''"
encode(value) = strstrt(" x264 x265 av1 vp9 mpeg2 mjpeg x264_10 x265_10 av1_10 ", " ".strcol(4)." ") ? value : NaN
kind(name, value) = strcol(1) eq name ? value : NaN
do for [column in "absolute loss"] {
    set ylabel column.", contents left out of the fit"
    plot ARG1 skip 1 using 6:(kind("photo", encode(column(column eq "loss" ? 8 : 7)))) with points pt 7 ps 0.3 lc rgb "#bbbbbb" title "photographs", \
         "" skip 1 using 6:(kind("video", encode(column(column eq "loss" ? 8 : 7)))) with points pt 7 ps 0.4 lc rgb "#1f77b4" title "video", \
         x with lines lc rgb "black" notitle
}
unset multiplot
