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
 * The built-in models. Made by tools/train/models.py of models/vmaf1_est2.txt: do not edit.
 */

#include <math.h>

#include "bliinds.h"

const BLIINDSModel ff_bliinds_model_vmaf1_est2[BLIINDS_NB_BASES] = {
    [BLIINDS_BITSTREAM] = {
        .name = "vmaf1_est2",
        .predicts = "estimated VMAF loss",
        .weight = { [24] = -0.302403505, 0.178747906, -0.0223115677, -0.111270559, 0.00418918486,
            -0.044907717, -0.053095766, 0.137654573, 0.0465888957, 0.177858732, -0.0737727547,
            0.341850289, [40] = 0.0990230159, -0.0763060998, 0.610823118, -0.546318063,
            -0.525485453, -0.427494379, -0.624124333, -0.386797202, -0.783394139, 0.0343791083,
            -0.0130129913, [52] = 0.0441232613, 0.0625155628, 0.0459619119, -0.0358241199,
            -0.0524910831, -0.217793243, [59] = -0.000816766732, [61] = 0.152250602, 0.154075831,
            0.0865857097, -0.0088308528, -0.0429151865, -0.15255561 },
        .constant = -0.549478689,
        .logistic = 1,
        .max = 100,
        .sigma = 5.77465885,
        .sigma_weight = { [49] = 0.017520637 },
        .sigma_p80 = 9.654,
    },
    [BLIINDS_PIXELS] = {
        .name = "vmaf1_est2",
        .predicts = "estimated VMAF loss",
        .weight = { [0] = 0.259906263, -0.298051022, 0.186895595, 1.70800284, -1.07177079,
            -0.0719383762, 4.98974337, 1.69410934, 0.696660776, 0.464997159, 0.020619008,
            0.346173459, 1.94977224, -0.172937988, -0.840172492, -0.69308912, -1.23833939,
            -0.781194606, -0.110659893, 1.26509961, 0.988440718, -0.152217591, -1.73304108,
            0.992788416, [33] = 0.246391427, -0.100807641, 0.454275121, 0.609722934, 0.687132664,
            -0.522237911, 12.3782808 },
        .constant = -3.88567376,
        .logistic = 1,
        .max = 100,
        .sigma = 7.4131286,
        .sigma_weight = { [49] = 0.0260486574 },
        .sigma_p80 = 14.31,
    },
    [BLIINDS_OF_FLAT] = {
        .name = "vmaf1_est2",
        .predicts = "estimated VMAF loss",
        .weight = { [24] = -0.0329795614, 0.0608597589, 0.0407107731, -0.0326881356, 0.01439309,
            0.0632013884, -0.0581520613, -0.0479938652, -0.17126004, 0.0632967458, -0.0302358973,
            0.316267529, [40] = 0.241877206, -0.10268271, [43] = -0.886763635, -0.105083293,
            -0.176230864, -0.388807152, -0.239319746, -0.291193637, 0.0173950519, -0.0288539043,
            [52] = 0.0821622775, -0.150514624, -0.0135309495, -0.0456171138, -0.0150562339,
            -0.0889094353, [59] = -0.0171016438, [61] = 0.137478155, 0.0781909849, 0.1793745,
            0.0577389175, -0.0166876297, 0.224056965 },
        .constant = -2.22167124,
        .of_flat = 1,
        .logistic = 1,
        .max = 100,
        .sigma = 5.25497104,
        .sigma_weight = { [49] = 0.0193469588 },
        .sigma_p80 = 7.21,
    },
};
