# Draws the predictions of encodes, contents left out:
#   gnuplot -c plot.gp predictions.csv predictions.png
# SPDX-License-Identifier: LGPL-2.1-or-later
set terminal pngcairo size 1000,500 font ",10"
set output ARG2
set datafile separator ","
set xrange [0:100]
set yrange [-5:105]
set xlabel "label: 0 is best"
set key top left reverse Left samplen 1 opaque

encoders = " x264 x265 av1 vp9 mpeg2 mjpeg x264_10 x265_10 av1_10 "
encode(kind, value) = strcol(1) eq kind && strstrt(encoders, " ".strcol(4)." ") ? value : NaN

set multiplot layout 1,2
do for [c = 7:8] {
    set ylabel (c == 7 ? "absolute score" : "loss")
    plot ARG1 skip 1 using 6:(encode("photo", column(c))) with points pt 7 ps 0.3 lc rgb "#bbbbbb" title "photographs", \
         "" skip 1 using 6:(encode("video", column(c))) with points pt 7 ps 0.4 lc rgb "#1f77b4" title "video", \
         x with lines lc rgb "black" notitle
}
unset multiplot
