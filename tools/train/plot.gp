# The scores of contents held back, from held-bitstream.txt and held-pixels.txt of score.py.
# SPDX-License-Identifier: LGPL-2.1-or-later
set terminal pngcairo size 1000,520 font 'DejaVu Sans,11'
set output 'model.png'
set multiplot layout 1,2
set size square
set key off
set grid lc rgb '#dddddd'
set xrange [0:100]
set yrange [0:100]
set xlabel '100 - VMAF v1'
set ylabel 'score'
set style data points
set pointsize 0.4
do for [basis in 'bitstream pixels'] {
    set title basis
    plot 'held-'.basis.'.txt' pt 7 lc rgb '#4078b0', x lc rgb '#444444'
}
unset multiplot
