/*
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

/**
 * @file
 * The built-in models. Made by tools/train/models.py of models/vmaf1_est1.txt: do not edit.
 */

#include <math.h>

#include "bliinds.h"

const BLIINDSModel ff_bliinds_model_vmaf1_est1[BLIINDS_NB_BASES] = {
    [BLIINDS_BITSTREAM] = {
        .name = "vmaf1_est1",
        .predicts = "estimated VMAF loss",
        .weight = { [24] = -0.0570316883, 0.00102311518, 0.0100214291, -0.0739716145, 0.0381021424,
            -0.0499035329, -0.0929339038, -0.00034030512, 0.14397436, 0.104978297, 0.00987732762,
            0.175878675, [40] = 0.453310452, -0.16093316, 0.995856912, -0.554945162, -0.522580449,
            -0.178349074, -0.547370397, -0.327814364, -1.29047123 },
        .constant = -2.41841169,
        .logistic = 1,
        .max = 100,
        .sigma = 5.66356487,
        .sigma_weight = { [49] = 0.0172119086 },
        .sigma_p80 = 9.24,
    },
    [BLIINDS_PIXELS] = {
        .name = "vmaf1_est1",
        .predicts = "estimated VMAF loss",
        .weight = { [0] = 0.411088351, 0.21085605, 0.261385313, 1.03344756, -2.19338804,
            -0.0681985653, 4.5309862, 1.09655243, 0.138399845, -0.714189892, 0.0753320428,
            -11.3689056, 4.19434464, -0.386441558, 2.97214869, 0.448811142, -2.42233265,
            -0.801368924, -0.285053807, 5.93559595, 1.19111253, -0.092471881, -4.29187236,
            1.50869743, [33] = -0.281766944, 0.192362356, 0.400468798, 1.55536656, 0.732614638,
            -2.30968392, 9.86650089 },
        .constant = 1.29627949,
        .logistic = 1,
        .max = 100,
        .sigma = 7.02681443,
        .sigma_weight = { [49] = 0.0203483123 },
        .sigma_p80 = 12.31,
    },
    [BLIINDS_OF_FLAT] = {
        .name = "vmaf1_est1",
        .predicts = "estimated VMAF loss",
        .weight = { [24] = -0.0625217504, 0.0315335203, -0.0496256258, -0.0358062175, -0.0311466435,
            0.0284451845, 0.0604986859, -0.0821342111, -0.113400267, -0.191147382, -0.0256943474,
            0.307956433, [40] = 0.367113868, 0.0297867542, [43] = -1.31156523, -1.17078302,
            -0.80102907, -0.843867231, -0.339053559, -1.36865257 },
        .constant = -1.76721646,
        .of_flat = 1,
        .logistic = 1,
        .max = 100,
        .sigma = 3.16832909,
        .sigma_weight = { [49] = 0.0781197415 },
        .sigma_p80 = 9.377,
    },
};
