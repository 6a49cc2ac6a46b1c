# SPDX-License-Identifier: Apache-2.0
# The fake libcupti, one a release of CUPTI: $(O)/sim/cupti/RELEASE/SONAME, each with that release's exports and version
# node; the newest of each soname that a toolkit here may have lies in $(O)/sim/lib too. Included by test/sim/Makefile.inc.

SIM_CUPTI_RELEASES = 11.7 11.8 12.0 12.1 12.2 12.3 12.4 12.5 12.6 12.8 12.9 13.0 13.1 13.2 13.3 13.4 13.5
sim_cupti_soname = libcupti.so.$(if $(filter 11.%,$(1)),$(1),$(firstword $(subst ., ,$(1))))
sim_cupti_file = $(O)/sim/cupti/$(1)/$(call sim_cupti_soname,$(1))
sim_cupti_number = $(word 1,$(subst ., ,$(1)))0$(word 2,$(subst ., ,$(1)))
# Its functions are named by the vendor and found by dlsym: no header of ours declares them.
SIM_CUPTI_FLAGS = -std=c11 -D_GNU_SOURCE $(WARN) -Wno-missing-prototypes -O2 -g -fPIC -fvisibility=hidden -fno-omit-frame-pointer -MMD -MP
SIM_CUPTI_OBJECTS := $(patsubst test/sim/%.c,$(O)/sim/objects/%.o,$(filter-out test/sim/cupti_layout.c,$(wildcard test/sim/cupti_*.c)))
SIM_CUPTI_DEFAULTS := 11.7 11.8 12.9 13.0
SIM_CUPTI := $(foreach release,$(SIM_CUPTI_RELEASES),$(call sim_cupti_file,$(release))) \
	$(foreach release,$(SIM_CUPTI_DEFAULTS),$(O)/sim/lib/$(call sim_cupti_soname,$(release)))

$(SIM_CUPTI_OBJECTS): $(O)/sim/objects/%.o: test/sim/%.c
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(CC) $(SIM_CUPTI_FLAGS) -c -o $@ $<

# What else lies in a release's folder, by links: so that the collector finds that CUPTI beside the runtime, and no other.
SIM_BESIDE = libsimgpu.so libcuda.so.1 $(foreach number,$(SIM_RUNTIMES),libcudart.so.$(number)) $(notdir $(SIM_LIBRARIES))

define sim_cupti_rules
$(O)/sim/cupti/$(1)/exports.map: test/sim/cupti_exports.txt test/sim/cupti.mk
	@mkdir -p $$(@D)
	$$(Q)awk -v release=$(1) -v node=$(call sim_cupti_soname,$(1)) -f test/sim/cupti_exports.awk $$< >$$@
$(O)/sim/cupti/$(1)/layout.o: test/sim/cupti_layout.c
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(SIM_CUPTI_FLAGS) -DSIM_OWN_RELEASE=$(call sim_cupti_number,$(1)) -c -o $$@ $$<
$(call sim_cupti_file,$(1)): $(SIM_CUPTI_OBJECTS) $(O)/sim/cupti/$(1)/layout.o $(O)/sim/cupti/$(1)/exports.map | $(O)/sim/lib/libsimgpu.so
	$$(call SAY,LINK,$$@)$$(CC) -shared -o $$@ $$(filter %.o,$$^) -Wl,-soname,$$(@F) -Wl,--version-script=$$(@D)/exports.map \
		-Wl,-z,defs -Wl,-rpath,'$$$$ORIGIN:$$$$ORIGIN/../../lib' -L$(O)/sim/lib -lsimgpu -lpthread
	@for name in $(SIM_BESIDE); do ln -sf ../../lib/$$$$name $$(@D)/$$$$name; done
endef
$(foreach release,$(SIM_CUPTI_RELEASES),$(eval $(call sim_cupti_rules,$(release))))

define sim_cupti_default
$(O)/sim/lib/$(call sim_cupti_soname,$(1)): $(call sim_cupti_file,$(1))
	@mkdir -p $$(@D)
	$$(Q)cp $$< $$@
endef
$(foreach release,$(SIM_CUPTI_DEFAULTS),$(eval $(call sim_cupti_default,$(release))))
