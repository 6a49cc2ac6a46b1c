# SPDX-License-Identifier: Apache-2.0
# tfprof: `make help` lists the targets. Everything built lies in $(O); what third parties give lies in $(DEPS).
#   O=DIR     where to build (default: build)            V=1   show the commands
#   CC=...    gcc, clang, or a cross compiler            T=... only the tests whose names contain this
#   SAN=address,undefined or SAN=thread: unit tests and offline programs with sanitizers, in a folder of their own
# Sources are found by folder; a new file needs no line here. scripts/setup installs what the build needs.

comma := ,
O ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
PREFIX ?= /usr/local
Q := $(if $(V),,@)
SAY = $(if $(V),,@echo "  $(1)	$(2)";)

ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
HOST_ARCH := $(shell uname -m)
IS_CROSS := $(filter-out $(HOST_ARCH),$(ARCH))
IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
SOURCES ?= .deps/sources
DEPS ?= .deps/$(ARCH)

# What another compiler than ours warns of stops nobody's build: make lint and .ci/run say WERROR=-Werror.
# A row of a table may leave out its last fields, which are then 0: clang, and gcc before 12, would say so of each.
WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wpointer-arith -Wundef $(WERROR) \
	-Wno-missing-field-initializers $(if $(IS_CLANG),-Wno-string-plus-int)
CFLAGS ?= $(if $(SAN),-O1 -g1,-O2 -g)
# ThreadSanitizer does not follow fences, and gcc says so of each: -Wno-tsan.
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all) $(if $(IS_CLANG),,$(if $(filter thread,$(SAN)),-Wno-tsan))
BASE = -std=c11 -D_GNU_SOURCE -I. $(WARN) $(CFLAGS) -fno-omit-frame-pointer -MMD -MP
# gcc writes what each function needs of the stack, and whom it calls, for scripts/lint/stack.
STACK := $(if $(IS_CLANG),-Wframe-larger-than=2048,-Wstack-usage=2048 -fstack-usage -fcallgraph-info=su)
GUEST = $(BASE) -isystem $(DEPS)/include -fPIC -fvisibility=hidden -fno-builtin -ftls-model=initial-exec \
	-fno-stack-protector -U_FORTIFY_SOURCE -Walloca -ffunction-sections -fdata-sections \
	$(if $(filter aarch64,$(ARCH)),-mno-outline-atomics) $(if $(SAN),$(SANITIZE),$(STACK))
OFFLINE = $(BASE) $(if $(SAN),$(SANITIZE),-fomit-frame-pointer)

WRITER := $(wildcard writer/*.c)
COLLECTORS := $(wildcard collectors/*.c)
PRELOAD := $(wildcard preload/*.c)
PARSER := $(wildcard preload/settings_*.c)
LAUNCHER := $(wildcard launcher/*.c)
REDUCER := $(wildcard reducer/*.c reducer/*/*.c)
UNIT := $(wildcard test/unit/*_test.c)
EXPORTED_BY := $(wildcard collectors/tables/*.def) preload/tfprof.h

objects = $(patsubst %.c,$(O)/$(1)/%.o,$(2))
without_main = $(filter-out %/main.o,$(1))
GUEST_OBJECTS := $(call objects,guest,$(WRITER) $(COLLECTORS) $(PRELOAD)) $(O)/schema/schema_block.o
LAUNCHER_OBJECTS := $(call objects,offline,$(LAUNCHER))
REDUCER_OBJECTS := $(call objects,offline,$(REDUCER)) $(O)/html/assets.o $(patsubst %.proto,$(O)/proto/%.pb-c.o,$(wildcard reducer/*/*.proto))
UNIT_TESTS := $(patsubst test/unit/%.c,$(O)/unit/%,$(UNIT))
GUEST_ARCHIVES := $(DEPS)/libtfplz4.a $(if $(wildcard scripts/build-unwind),$(DEPS)/libtfpunwind.a)
REDUCER_LIBRARIES := -llz4 -ldw -lelf -liberty -lsqlite3 -lprotobuf-c -lz -lm
PROGRAMS := $(if $(SAN),,$(O)/libtfprof.so) $(if $(wildcard launcher/main.c),$(O)/tfprof) \
	$(if $(IS_CROSS),,$(if $(wildcard reducer/main.c),$(O)/tfprof-reduce))

.PHONY: all needs demo test test-all unit run-tests run-test-all lint bench check-gpu docs install dist clean distclean help print-flags
.DELETE_ON_ERROR:
all: $(PROGRAMS) ## build everything

# Says what to install where something is missing; costs some milliseconds. Never forces a rebuild.
needs:
	$(Q)scripts/setup --check build

# A compiler behind ccache would leave out the call graphs on its second run.
$(O)/guest/%.o $(DEPS)/libtfp%.a: export CCACHE_DISABLE = 1

$(O)/guest/%.o: %.c | needs $(GUEST_ARCHIVES)
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(CC) $(GUEST) -c -o $@ $<

# Pairs of registers put together for one wide store, and taken apart again, cost more than two stores.
HOT := $(patsubst %,$(O)/guest/%.o,collectors/heap collectors/stacks_fast collectors/stacks_near preload/malloc \
	writer/encode writer/encode_heap writer/heapcode writer/stream)
$(HOT): GUEST += -fno-tree-slp-vectorize -fomit-frame-pointer

# Sums of several figures at once are put together from memory and taken apart again: slower than one by one.
$(O)/offline/reducer/%.o: OFFLINE += -fno-tree-slp-vectorize
$(O)/offline/%.o: %.c | needs
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(CC) $(OFFLINE) -c -o $@ $<

# The guest library: needs libc alone, exports the hook tables and the C API and nothing else.
# No start files: theirs run at exit, where nothing of ours may.
LINK_GUEST := -shared -nostartfiles -nodefaultlibs -Wl,-z,defs,-z,now,-z,relro,-z,noexecstack,-z,nodelete -Wl,--as-needed -Wl,--gc-sections \
	-Wl,-Bsymbolic-functions -Wl,--exclude-libs,ALL
# Linked against the names that it may take, not against the libc of this machine: those have versions, and the loader of an older libc
# would end each program that is to have the library. The names of functions that changed their meaning since are not among them.
$(O)/libc/libc.so: scripts/lint/allowed-symbols.txt | needs
	@mkdir -p $(@D)
	$(Q)awk -F'\t' '!/^#/ && NF > 1 {print ".globl " $$1 "\n.type " $$1 ", %function\n.size " $$1 ", 8\n" $$1 ":"}' $< > $(@D)/names.s
	$(call SAY,LINK,$@)$(CC) -shared -nostdlib -Wl,-soname,libc.so.6 -o $@ $(@D)/names.s

$(O)/libtfprof.so: $(GUEST_OBJECTS) $(GUEST_ARCHIVES) $(O)/exports.map $(O)/libc/libc.so
	$(call SAY,LINK,$@)$(CC) $(LINK_GUEST) -Wl,--version-script=$(O)/exports.map -o $@ $(GUEST_OBJECTS) $(GUEST_ARCHIVES) \
		$(O)/libc/libc.so -lgcc

# The schema of every log, put together by a program of the building machine.
$(O)/schema/make: scripts/schema_block.c writer/losses.def $(wildcard writer/records*.def collectors/tables/*.def) writer/format.h writer/records.h | needs
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(if $(IS_CROSS),cc,$(CC)) -std=c11 -D_GNU_SOURCE -I. $(WARN) -o $@ $< -llz4

$(O)/schema/schema_block.c: $(O)/schema/make
	$(call SAY,GEN,$@)$< >$@

$(O)/schema/schema_block.o: $(O)/schema/schema_block.c
	$(Q)$(CC) $(GUEST) -c -o $@ $<

$(O)/exports.map: $(EXPORTED_BY) scripts/exports | needs
	@mkdir -p $(@D)
	$(call SAY,GEN,$@)CC=$(CC) scripts/exports --map $(EXPORTED_BY) >$@

# `tfprof run` checks settings with the library's parser, and its outside drainer encodes as the library does.
# As the library, it names no versions of libc's functions: a first link says which it takes.
$(O)/launcher/tfprof: $(LAUNCHER_OBJECTS) $(O)/libguest.a $(GUEST_ARCHIVES)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OFFLINE) -o $@ $^

$(O)/launcher/libc.so: $(O)/launcher/tfprof scripts/libc-names.awk
	$(Q)nm -D $< | sort | awk -f scripts/libc-names.awk > $(@D)/names.s
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,libc.so.6 -o $@ $(@D)/names.s
	$(Q)$(CC) -shared -nostdlib -Wl,-soname,libdl.so.2 -o $(@D)/libdl.so -x c /dev/null

$(O)/tfprof: $(LAUNCHER_OBJECTS) $(O)/libguest.a $(GUEST_ARCHIVES) $(if $(SAN),,$(O)/launcher/libc.so)
	$(call SAY,LINK,$@)$(CC) $(OFFLINE) -o $@ $^ $(if $(SAN),,-nodefaultlibs -Wl,--no-as-needed $(O)/launcher/libdl.so -lgcc)

$(O)/tfprof-reduce: $(REDUCER_OBJECTS)
	$(call SAY,LINK,$@)$(CC) $(OFFLINE) -o $@ $^ $(REDUCER_LIBRARIES)

# What every HTML report has in common: own pages and the distribution's chart and table libraries, as C.
$(O)/html/assets.c: scripts/html-assets $(wildcard reducer/report/html/*) | needs
	@mkdir -p $(@D)
	$(call SAY,GEN,$@)scripts/html-assets >$@

$(O)/html/assets.o: $(O)/html/assets.c
	$(Q)$(CC) $(OFFLINE) -c -o $@ $<

# Messages of other tools' formats, described in a .proto of ours, as C.
$(O)/proto/%.pb-c.c: %.proto | needs
	@mkdir -p $(@D)
	$(call SAY,GEN,$@)protoc-c --proto_path=. --c_out=$(O)/proto $<

.PRECIOUS: $(O)/proto/%.pb-c.c
$(O)/proto/%.pb-c.h: $(O)/proto/%.pb-c.c
	@:

$(O)/proto/%.pb-c.o: $(O)/proto/%.pb-c.c
	$(Q)$(CC) $(OFFLINE) -Wno-missing-prototypes -I$(O)/proto -c -o $@ $<

$(O)/offline/reducer/trace/%.o: OFFLINE += -I$(O)/proto
$(O)/offline/reducer/report/pprof.o: OFFLINE += -I$(O)/proto
$(O)/offline/reducer/report/pprof.o: $(O)/proto/reducer/report/pprof.pb-c.h
$(O)/offline/reducer/trace/perfetto.o: $(O)/proto/reducer/trace/perfetto.pb-c.h
$(O)/offline/reducer/trace/xspace.o: $(O)/proto/reducer/trace/xplane.pb-c.h

# Built once a machine architecture, one make at a time, from the distribution's source packages.
$(DEPS)/libtfp%.a: scripts/build-% scripts/fetch-source | needs
	@mkdir -p $(SOURCES) $(DEPS)
	$(Q)CC=$(CC) flock .deps scripts/build-$* $(SOURCES) $(DEPS)
	@touch $@

# A unit test links archives of everything but the hooks and the main files, so it takes only what it names.
$(O)/libguest.a: $(call objects,guest,$(WRITER) $(COLLECTORS) $(PARSER)) $(O)/schema/schema_block.o
$(O)/libtest.a: $(call objects,offline,$(wildcard test/logmaker*.c))
$(O)/libreducer.a: $(call without_main,$(REDUCER_OBJECTS))
$(O)/liblauncher.a: $(call without_main,$(LAUNCHER_OBJECTS))
$(O)/lib%.a:
	@rm -f $@
	$(call SAY,AR,$@)$(AR) rcs $@ $^

# cmocka 2 calls assert_in_range deprecated; what it wants instead cmocka 1 does not have.
$(O)/unit/%: test/unit/%.c $(O)/libtest.a $(O)/libreducer.a $(O)/liblauncher.a $(O)/libguest.a $(GUEST_ARCHIVES)
	@mkdir -p $(@D)
	$(call SAY,CC,$<)$(CC) $(OFFLINE) -Wno-deprecated-declarations -isystem $(DEPS)/include -o $@ $(filter %.c,$^) $(filter %.a,$^) \
		$(REDUCER_LIBRARIES) -lcmocka -lm -lpthread -ldl

unit: $(UNIT_TESTS) ## build the unit tests

demo: ## set up, build, profile a real Python training script and a CUDA one, show the reports
	$(Q)scripts/setup build demo
	$(Q)$(MAKE) --no-print-directory all sim
	$(Q)O=$(O) examples/demo

test: ## set up, build, run the tests; about 10 minutes
	$(Q)scripts/setup build test
	$(Q)$(MAKE) --no-print-directory run-tests

test-all: ## the long tests too: sanitizers, other compilers, the long crash and stack comparisons
	$(Q)scripts/setup build lint test test-all
	$(Q)$(MAKE) --no-print-directory run-test-all

lint: ## the fences: folders, symbols, stack use, style; under 3 minutes
	$(Q)scripts/setup build lint
	$(Q)$(MAKE) --no-print-directory WERROR=-Werror all unit
	$(Q)O=$(O) CC=$(CC) DEPS=$(DEPS) T=$(T) scripts/lint/run

bench: ## goals and peers, interleaved; B=quick for a small one, R=rounds, W=workloads (test/bench/run says more)
	$(Q)scripts/setup build
	$(Q)$(MAKE) --no-print-directory all
	$(Q)O=$(O) B='$(B)' R='$(R)' W='$(W)' T='$(T)' test/bench/run

# Where nothing can be installed or built, what `make gpu-bundle` made elsewhere serves.
check-gpu: ## the tests that need a real GPU
	$(Q)O=$(O) MAKE='$(MAKE)' test/gpu/start

install: all ## copy to $(DESTDIR)$(PREFIX)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib include share/man/man1 share/man/man7)
	install -m 755 $(O)/tfprof $(O)/tfprof-reduce $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(O)/libtfprof.so $(DESTDIR)$(PREFIX)/lib
	install -m 644 preload/tfprof.h $(DESTDIR)$(PREFIX)/include
	install -d $(DESTDIR)$(PREFIX)/share/tfprof
	install -m 644 preload/tfprof.py $(DESTDIR)$(PREFIX)/share/tfprof
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/man/*.7 $(DESTDIR)$(PREFIX)/share/man/man7
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions zsh/site-functions)
	for name in tfprof tfprof-reduce; do \
		install -m 644 docs/completion/$$name.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$name && \
		install -m 644 docs/completion/_$$name $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_$$name || exit 1; done

# The reducer with its libraries in it: for containers and machines of a cluster, which have other ones or none.
STATIC_LIBRARIES = $(foreach name,lzma bz2 zstd,$(if $(findstring /,$(shell $(CC) -print-file-name=lib$(name).a)),-l$(name)))
$(O)/static/tfprof-reduce: $(REDUCER_OBJECTS) scripts/static_search.c
	@mkdir -p $(@D)
	$(call SAY,LINK,$@)$(CC) $(OFFLINE) -static -o $@ $^ $(REDUCER_LIBRARIES) $(STATIC_LIBRARIES) 2>$@.log || { cat $@.log; exit 1; }

DIST = tfprof-$(shell sed -n 's/.define TFP_VERSION "\(.*\)"/\1/p' writer/version.h)-$(ARCH)
dist: ## an archive in $(O) to unpack on machines and in containers that need nothing else
	$(Q)scripts/setup build dist
	$(Q)rm -rf $(O)/dist
	$(Q)$(MAKE) --no-print-directory $(O)/static/tfprof-reduce
	$(Q)$(MAKE) --no-print-directory -s install DESTDIR=$(abspath $(O)/dist) PREFIX=/$(DIST)
	$(Q)install -m 755 $(O)/static/tfprof-reduce $(O)/dist/$(DIST)/bin
	$(Q)scripts/dist $(O)/dist/$(DIST) $(O)/$(DIST).tar.gz

print-flags:
	@echo '-std=c11 -D_GNU_SOURCE -I. $(WARN)'

docs: $(O)/tfprof $(O)/tfprof-reduce ## write the pages that come from the tables to docs/
	$(Q)O=$(O) scripts/docs docs

clean: ## remove what was built; .deps stays (see distclean)
	rm -rf build build-*

distclean: clean ## remove also what scripts/setup and the build fetched
	rm -rf .deps .venv

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

-include $(wildcard test/Makefile.inc test/*/Makefile.inc)
-include $(shell find $(O) -path $(O)/test/tmp -prune -o -name '*.d' -type f -print 2>/dev/null)
