# SPDX-License-Identifier: Apache-2.0
# The fake cuBLAS, cuBLASLt, cuDNN, cuFFT, NCCL and NVML: test/sim/library_NAME.c, one file for each soname that it names on
# its line "soname:". Included by test/sim/Makefile.inc.

sim_library_sonames = $(shell sed -n 's,^/\* soname: \(.*\) \*/$$,\1,p' $(1))
SIM_LIBRARY_SOURCES := $(wildcard test/sim/library_*.c)
SIM_LIBRARIES =

# The math libraries carry a version node, NCCL and NVML do not.
define sim_library_rules
SIM_LIBRARIES += $(O)/sim/lib/$(2)
$(O)/sim/lib/$(2): $(1) test/sim/library.h test/sim/core.h $(O)/sim/lib/libsimgpu.so
	@mkdir -p $$(@D)
	@printf '$(if $(filter libcu%,$(2)),$(2) )%s\n' '{ global: cublas*; cudnn*; cufft*; nccl*; pnccl*; nvml*; local: *; };' >$$@.map
	$$(call SAY,LINK,$$@)$$(CC) $$(SIM_CUPTI_FLAGS) -MF $$@.d -shared -o $$@ $$< -Wl,-soname,$$(@F) -Wl,--version-script=$$@.map \
		-Wl,-z,defs -Wl,-rpath,'$$$$ORIGIN' -L$(O)/sim/lib -lsimgpu -lpthread -ldl
endef
$(foreach source,$(SIM_LIBRARY_SOURCES),$(foreach soname,$(call sim_library_sonames,$(source)),$(eval $(call sim_library_rules,$(source),$(soname)))))
