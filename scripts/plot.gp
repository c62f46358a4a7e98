# Score over time: gnuplot -c plot.gp PICTURE TITLE < stats_file
# SPDX-License-Identifier: LGPL-2.1-or-later
set terminal pngcairo size 1000,420 font "sans,11" noenhanced
set output ARG1
set title ARG2
set xlabel "time [s]"
set ylabel "estimated VMAF loss (0..100, lower is better)"
set yrange [0:100]
set grid
set key off
set datafile separator ": "
# pts_time, score, valid; frames that are not valid become gaps
plot "/dev/stdin" using 6:($14 == 1 ? $8 : NaN) with linespoints pointtype 7 pointsize 0.3 linecolor rgb "#2060a0"
