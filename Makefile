# SPDX-License-Identifier: Apache-2.0
# tfprof: `make help` lists the targets. Objects and programs go to $(O); V=1 shows the commands; SAN=address,undefined
# or SAN=thread builds the offline programs and unit tests with sanitizers into a folder of their own.

O ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
comma := ,
CC ?= gcc
Q := $(if $(V),,@)
SAY = $(if $(V),,@echo "  $(1)	$(2)";)

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wpointer-arith -Wundef -Werror
CFLAGS ?= -O2 -g
BASE := -std=c11 -D_GNU_SOURCE -I. $(WARN) $(CFLAGS) -MMD -MP
GUEST := $(BASE) -fPIC -fvisibility=hidden -fno-builtin -ftls-model=initial-exec -fno-omit-frame-pointer \
	-fno-stack-protector -U_FORTIFY_SOURCE -Wstack-usage=2048
OFFLINE := $(BASE) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)

WRITER := $(wildcard writer/*.c)
COLLECTORS := $(wildcard collectors/*.c)
PRELOAD := $(wildcard preload/*.c)
LAUNCHER := $(wildcard launcher/*.c) preload/settings_parse.c preload/settings_names.c
REDUCER := $(wildcard reducer/*.c reducer/*/*.c)

objects = $(patsubst %.c,$(O)/$(1)/%.o,$(2))
GUEST_OBJECTS := $(call objects,guest,$(WRITER) $(COLLECTORS) $(PRELOAD))
LAUNCHER_OBJECTS := $(call objects,offline,$(LAUNCHER))
REDUCER_OBJECTS := $(call objects,offline,$(REDUCER))

.PHONY: all setup demo test test-all lint bench check-gpu install clean help
all: $(O)/libtfprof.so $(O)/tfprof $(O)/tfprof-reduce ## build everything

$(O)/guest/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(CC) $(GUEST) -c -o $@ $<

$(O)/offline/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(CC) $(OFFLINE) -c -o $@ $<

$(O)/libtfprof.so: $(GUEST_OBJECTS)
	$(call SAY,LINK,$@)$(CC) -shared -o $@ $^ $(GUEST_ARCHIVES) -Wl,-z,defs -Wl,-z,now -Wl,--as-needed

$(O)/tfprof: $(LAUNCHER_OBJECTS)
	$(call SAY,LINK,$@)$(CC) $(OFFLINE) -o $@ $^

$(O)/tfprof-reduce: $(REDUCER_OBJECTS)
	$(call SAY,LINK,$@)$(CC) $(OFFLINE) -o $@ $^ -llz4 -ldw -lelf

clean: ## remove what was built
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

-include $(shell find $(O) -name '*.d' 2>/dev/null)
