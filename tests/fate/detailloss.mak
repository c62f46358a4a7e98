# detailloss and detailloss_cuda. The numbers are compared with those of a program in double
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

# On a GPU, against the CPU's filter on the same frames, byte by byte. Those of mad_cuda's tests
# that compare so have its references.
FATE_DETAILLOSS_CUDA_MAD = $(addprefix fate-detailloss-cuda-,end formats instances passthrough ranges sync)
$(FATE_DETAILLOSS_CUDA_MAD): RUN = mad_cuda_$(LAST)
$(FATE_DETAILLOSS_CUDA_MAD): REF = $(call REF_OF,detailloss-%,mad-%)
fate-detailloss-cuda-errors: RUN = mad_cuda_errors 16

FATE_DETAILLOSS_CUDA = $(FATE_DETAILLOSS_CUDA_MAD) $(addprefix fate-detailloss-cuda-,crop errors queue resize sizes)
$(FATE_DETAILLOSS_CUDA): NEED = DETAILLOSS_FILTER DETAILLOSS_CUDA_FILTER $(NEED_PICTURE) $(NEED_SOURCE)            \
                                HWUPLOAD_FILTER HWUPLOAD_CUDA_FILTER HWDOWNLOAD_FILTER AVGBLUR_FILTER CROP_FILTER  \
                                LOOP_FILTER NOISE_FILTER NULL_FILTER SCALE_FILTER SETPTS_FILTER SETRANGE_FILTER    \
                                SPLIT_FILTER TRIM_FILTER PGM_ENCODER IMAGE2_MUXER RAWVIDEO_ENCODER FRAMEMD5_MUXER
$(FATE_DETAILLOSS_CUDA): ON   = on_cuda_exactly
$(FATE_DETAILLOSS) $(FATE_DETAILLOSS_CUDA): FROM = detailloss

fate-detailloss-cuda-options: NEED = DETAILLOSS_FILTER
fate-detailloss-cuda-options: RUN  = mad=detailloss; mad_cuda_options

FATE_QUALITY-$(call ALLYES, DETAILLOSS_FILTER FFMPEG)         += $(FATE_DETAILLOSS)
FATE_QUALITY-$(call ALLYES, DETAILLOSS_CUDA_FILTER FFMPEG)    += fate-detailloss-cuda-options $(call PTX_TESTS,detailloss)
FATE_HW_QUALITY-$(call ALLYES, DETAILLOSS_CUDA_FILTER FFMPEG) += $(FATE_DETAILLOSS_CUDA)
