# Score over time: gnuplot -c plot.gp PICTURE TITLE < "time score" lines
# SPDX-License-Identifier: LGPL-2.1-or-later
set terminal pngcairo size 1000,420 font "sans,11" noenhanced
set output ARG1
set title ARG2
set xlabel "time [s]"
set ylabel "BLIINDS score (0..100, lower is better)"
set yrange [0:100]
set grid
set key off
plot "/dev/stdin" using 1:($2) with linespoints pointtype 7 pointsize 0.3 linecolor rgb "#2060a0"
