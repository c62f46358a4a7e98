# detailloss. The numbers are compared with those of a program in double
# precision; how frames are brought together, with FFmpeg's ssim.

FATE_DETAILLOSS_RUN = $(addprefix fate-detailloss-,errors formats limits memory numbers ranges subsample threads)
$(FATE_DETAILLOSS_RUN): RUN = parsed=detailloss; $(NAMED)
fate-detailloss-logs:        RUN = parsed=detailloss; mad_logs loss sigma detail added chroma motion
fate-detailloss-passthrough: RUN = parsed=detailloss; mad_passthrough
fate-detailloss-sync:        RUN = parsed=detailloss; mad_sync
fate-detailloss-passthrough fate-detailloss-sync: REF = $(call REF_OF,detailloss-%,mad-%)

FATE_DETAILLOSS = $(FATE_DETAILLOSS_RUN) $(addprefix fate-detailloss-,logs passthrough sync)
$(FATE_DETAILLOSS): NEED = DETAILLOSS_FILTER $(NEED_FRAMES) IMAGE_PPM_PIPE_DEMUXER PNG_DECODER PPM_DECODER PPM_ENCODER \
                           PGM_ENCODER MPEG4_ENCODER MPEG4_DECODER MJPEG_ENCODER MJPEG_DECODER AVI_MUXER AVI_DEMUXER  \
                           IMAGE2_MUXER RAWVIDEO_ENCODER RAWVIDEO_MUXER FRAMEMD5_MUXER AVGBLUR_FILTER COLOR_FILTER    \
                           CROP_FILTER FPS_FILTER GBLUR_FILTER HFLIP_FILTER LOOP_FILTER LUT_FILTER LUTYUV_FILTER      \
                           NEGATE_FILTER NOISE_FILTER NULL_FILTER PAD_FILTER SCALE_FILTER SELECT_FILTER SETPTS_FILTER \
                           SETRANGE_FILTER SPLIT_FILTER SSIM_FILTER TRIM_FILTER

$(FATE_DETAILLOSS): FROM = detailloss

FATE_QUALITY-$(call ALLYES, DETAILLOSS_FILTER FFMPEG) += $(FATE_DETAILLOSS)
