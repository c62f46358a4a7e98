# ssim_cuda against FFmpeg's ssim, of the same frames.

FATE_SSIM_CUDA = $(addprefix fate-ssim-cuda-,end errors formats instances passthrough sizes sync)
$(FATE_SSIM_CUDA) fate-ssim-cuda-options: RUN = ssim_$(LAST)
$(FATE_SSIM_CUDA): NEED = $(NEED_SOURCE) SSIM_FILTER SPLIT_FILTER SCALE_FILTER HWUPLOAD_FILTER HWUPLOAD_CUDA_FILTER \
                          HWDOWNLOAD_FILTER GBLUR_FILTER AVGBLUR_FILTER HFLIP_FILTER NEGATE_FILTER NULL_FILTER      \
                          TRIM_FILTER FPS_FILTER SETPTS_FILTER RAWVIDEO_ENCODER FRAMEMD5_MUXER
$(FATE_SSIM_CUDA): ON   = on_cuda
fate-ssim-cuda-options: NEED = SSIM_FILTER

FATE_QUALITY-$(call ALLYES, SSIM_CUDA_FILTER FFMPEG)    += fate-ssim-cuda-options $(call PTX_TESTS,ssim)
FATE_HW_QUALITY-$(call ALLYES, SSIM_CUDA_FILTER FFMPEG) += $(FATE_SSIM_CUDA)
