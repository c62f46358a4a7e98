# mad and mad_cuda. They are compared with the authors' release, or double precision by numpy,
# or FFmpeg's ssim for how frames are brought together.

MAD_ORACLE = $(addprefix oracle-,camera_crop_300x240_blur camera_crop_300x240_jpeg15 camera_crop_300x240_jpeg60 \
                                 camera_crop_300x240_noise chelsea_451x300_blur)
FATE_MAD_ORACLE      = $(MAD_ORACLE:%=fate-mad-%)
FATE_MAD_CUDA_ORACLE = $(MAD_ORACLE:%=fate-mad-cuda-%)
$(FATE_MAD_ORACLE):      RUN = mad_oracle $(lastword $(subst oracle-, ,$@))
$(FATE_MAD_CUDA_ORACLE): RUN = mad_cuda_oracle $(lastword $(subst oracle-, ,$@))
$(FATE_MAD_ORACLE) $(FATE_MAD_CUDA_ORACLE): REF = 3 values agree

# More of them, where they are at hand.
fate-mad-oracle-all: RUN = mad_oracle_all
fate-mad-oracle-all: REF = all values agree
$(FATE_MAD_ORACLE) $(FATE_MAD_CUDA_ORACLE) fate-mad-oracle-all: CMP = oneline

FATE_MAD_RUN = $(addprefix fate-mad-,cases errors formats logs maps memory passthrough ranges sync threads)
$(FATE_MAD_RUN): RUN = parsed=mad; $(NAMED)
fate-mad-logs:   RUN = parsed=mad; mad_logs score hi lo

$(eval $(call PROGRAM_TEST,mad-tx,mad_tx,682 transforms))

FATE_MAD = $(FATE_MAD_ORACLE) $(FATE_MAD_RUN) fate-mad-oracle-all fate-mad-tx
$(FATE_MAD): NEED = MAD_FILTER $(NEED_FRAMES) PNG_DECODER RAWVIDEO_ENCODER RAWVIDEO_MUXER FRAMEMD5_MUXER            \
                    AVGBLUR_FILTER COLOR_FILTER CROP_FILTER FPS_FILTER HFLIP_FILTER HSTACK_FILTER LUT_FILTER        \
                    NEGATE_FILTER NULL_FILTER NULLSINK_FILTER SCALE_FILTER SETPTS_FILTER SELECT_FILTER              \
                    SETRANGE_FILTER SPLIT_FILTER SSIM_FILTER TRIM_FILTER

# On a GPU, against the release, and against the CPU's filter on the same frames.
FATE_MAD_CUDA_RUN = $(addprefix fate-mad-cuda-,end errors flat formats instances passthrough ranges sizes sync)
fate-mad-cuda-errors: RUN = mad_cuda_errors 64
FATE_MAD_CUDA = $(FATE_MAD_CUDA_ORACLE) $(FATE_MAD_CUDA_RUN)
$(FATE_MAD_CUDA): NEED = MAD_FILTER MAD_CUDA_FILTER $(NEED_PICTURE) $(NEED_SOURCE) PNG_DECODER HWUPLOAD_FILTER      \
                         HWUPLOAD_CUDA_FILTER HWDOWNLOAD_FILTER AVGBLUR_FILTER COLOR_FILTER CROP_FILTER LOOP_FILTER \
                         NEGATE_FILTER NOISE_FILTER NULL_FILTER SCALE_FILTER SETPTS_FILTER SETRANGE_FILTER          \
                         SPLIT_FILTER TRIM_FILTER RAWVIDEO_ENCODER FRAMEMD5_MUXER
$(FATE_MAD_CUDA): ON   = on_cufft

FATE_MAD_CUDA_BUILD = $(addprefix fate-mad-cuda-,options cufft)
$(FATE_MAD_CUDA_BUILD): NEED = MAD_FILTER $(NEED_SOURCE) SPLIT_FILTER

FATE_QUALITY-$(call ALLYES, MAD_FILTER FFMPEG)         += $(FATE_MAD)
FATE_QUALITY-$(call ALLYES, MAD_CUDA_FILTER FFMPEG)    += $(FATE_MAD_CUDA_BUILD) $(call PTX_TESTS,mad)
FATE_HW_QUALITY-$(call ALLYES, MAD_CUDA_FILTER FFMPEG) += $(FATE_MAD_CUDA)
