# SPDX-License-Identifier: MIT
# leasehold: `make run` shows it, `make check` proves it, `make help` lists the
# rest.

# --- configuration -----------------------------------------------------------
VERSION	:= $(shell awk '/^.define LEASEHOLD_VERSION_(MAJOR|MINOR|PATCH) / \
	{ v = v s $$3; s = "." } END { print v }' include/leasehold/version.h)
SONAME	:= libleasehold.so.0
PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib
SYSCONFDIR ?= /etc
STATEDIR ?= /var/lib
# empty: where the system's python3 looks below PREFIX
PYTHONDIR ?=
# release, asan (ASan + UBSan, and hooks), tsan, hooks (named points and
# mutants compiled in), or arm64 (the same, for check-arm64).  The sanitized flavours are clang's, so that a change
# meets the warnings of both compilers; it also compiles them in half the time.
# For that, hooks are clang's as well.
F	?= release
ifeq ($(origin CC),default)
CC_asan	:= clang
CC_tsan	:= clang
CC_hooks := clang
CC_coverage := clang
CC_arm64 := aarch64-linux-gnu-gcc
CC	:= $(or $(CC_$(F)),gcc)
endif
CXX	?= g++
V	?= 0

BUILD	:= build/$(F)
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wundef -Wno-unused-parameter $(if $(filter 1,$(WERROR)),-Werror)
CFLAGS	?= -O2 -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -pthread -fPIC -fvisibility=hidden \
	   -Iinclude -Isrc $(WARN) $(HARDEN_$(F)) $(CPPFLAGS) $(CFLAGS) \
	   $(CFLAGS_$(F))
LDLIBS	:= -lbsd -pthread
ALL_LDFLAGS = -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $(LDFLAGS) $(LDFLAGS_$(F)) $(CFLAGS_$(F))

# What is installed is hardened.  Copies are checked where the compiler optimizes,
# unless CFLAGS says how.  The folders of the hot pairs have no guard of the stack,
# which would be a tenth of their instructions (make bench-check).
HARDEN_release = $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),$(if $(findstring \
	   FORTIFY,$(CPPFLAGS) $(CFLAGS)),,-D_FORTIFY_SOURCE=2)) $(GUARD)
GUARDED := tools $(addprefix src/,daemon reaper shim fence inspect offline)
$(GUARDED:%=build/release/%/%.o): GUARD = -fstack-protector-strong
# why these: doc/performance.md
CFLAGS_release	:= -fno-tree-vectorize -falign-functions=64
# the others are compiled oftener than they run: lines are enough to find by
QUICK_CC := $(if $(filter clang,$(CC)),-O0,-O1) -g1
CFLAGS_asan	:= -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		   -fno-omit-frame-pointer -DLHI_HOOKS -O0 -g1
# counts go on being written by a process that is killed (tests/coverage)
CFLAGS_coverage := -fprofile-instr-generate=$(abspath \
		   $(BUILD))/profile/%m%c.profraw -fcoverage-mapping -O1 -g1 \
		   -mllvm -runtime-counter-relocation -DLHI_HOOKS
CFLAGS_tsan	:= -fsanitize=thread $(QUICK_CC)
CFLAGS_hooks	:= -DLHI_HOOKS -DLHI_MUTANTS $(QUICK_CC)
# the libraries that tools/deps has unpacked; qemu-user finds them by the path
ARM64_ROOT := $(abspath build/arm64/root/usr)
ARM64_LIB := $(ARM64_ROOT)/lib/aarch64-linux-gnu
CFLAGS_arm64 := $(CFLAGS_hooks) -DTEST_WIPES_ON_FORK \
		   -isystem $(ARM64_ROOT)/include
LDFLAGS_arm64 := -L$(ARM64_LIB) -Wl,-rpath-link,$(ARM64_LIB) \
		   -Wl,--disable-new-dtags -Wl,-rpath,$(ARM64_LIB) \
		   -Wl,--wrap=madvise
# a shim that is killed at points is not stepped
build/hooks/src/shim/%.o build/hooks/joined/shim/%.o: CFLAGS_hooks += -O0
# The hash of the header, of which each bit is tried when it is wrong, and the
# look at all claims when an attachment ends: 12 s of the unit tests otherwise.
OPTIMISED := src/base/hash src/api/table_api
$(OPTIMISED:%=build/asan/%.o): CFLAGS_asan += -O1
$(OPTIMISED:%=build/hooks/%.o): CFLAGS_hooks += -O1
# to be built by clang
CFLAGS_libfuzzer := -fsanitize=fuzzer-no-link,address,undefined \
		   -fno-sanitize-recover=undefined -O1 -DLHI_HOOKS

# a warning is an error in what checks, and a warning where it is just built
check check-% lint ready-%: export WERROR ?= 1

Q := $(if $(filter 1,$(V)),,@)
# by make itself: a process for each line took as long as a tenth of a compiler
say = $(if $(filter 1,$(V)),,$(info   $(1)	$@))
made_dir = $(if $(wildcard $(@D)),,$(shell mkdir -p $(@D)))

# (what only calls make again compiles nothing)
COMPILED := $(if $(BUILT),,$(filter-out check check-% ready-%, \
	   $(or $(MAKECMDGOALS),all)))

# --- what there is -----------------------------------------------------------
LIB_SRC	:= $(wildcard $(addprefix src/,$(addsuffix /*.c,base prim fence \
	   shm proc inspect op live offline api)))
# What only checks is compiled several sources at a time (tools/join), because to
# start a compiler took half of the time; what is installed, file by file.
JOINING	:= $(if $(filter asan tsan hooks coverage,$(F)),$(COMPILED))
TESTED_asan := unit behaviour shim
TESTED_hooks := replay
TESTED_coverage := unit behaviour shim replay
# (hooks.c is what a replay has in its place)
APART	:= $(OPTIMISED:%=%.c) src/prim/hooks.c
join_lib := $(filter-out $(APART),$(LIB_SRC))
join_shim := $(filter-out %/shim_main.c,$(wildcard src/shim/*/*.c))
# (for coverage each file of src/ is compiled by itself)
JOINING_LIB := $(if $(filter-out coverage,$(F)),$(JOINING))
JOINED	:= $(if $(JOINING_LIB),build/joined/lib.mk build/joined/shim.mk)
-include $(JOINED)
# of a list of sources: its objects
objects_of = $(if $(JOINING_LIB),$(joined_$(1):%=$(BUILD)/joined/$(1)/%.o), \
	   $(join_$(1):%.c=$(BUILD)/%.o))
LIB_OBJ	:= $(call objects_of,lib) $(APART:%.c=$(BUILD)/%.o)
LIB_A	:= $(BUILD)/libleasehold.a
LIB_SO	:= $(BUILD)/$(SONAME)
REAPER_A := $(BUILD)/libreaper.a
TOOL	:= $(BUILD)/leasehold
REAPERD	:= $(BUILD)/leasehold-reaperd
STEP	:= $(BUILD)/tests/crash/step
CHAOS	:= $(BUILD)/tests/stress/chaos
DEMO	:= $(BUILD)/tests/demo/demo
BENCH	:= $(BUILD)/bench/bench
PRELOAD	:= $(BUILD)/leasehold-preload.so
objs	= $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))
HISTORY	= $(call objs,tests/stress/history/*.c)
REJECTS	:= $(BUILD)/tests/stress/history-rejects
progs	= $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
# What a test says of itself in its head (tests/README.md), as KIND=tests/DIR/NAME:
# "test: slow 20" is begun first, "test: alone: why" is linked by itself,
# "test: release: why" is not run under ASan, "test: tsan" under TSan as well,
# "test: check-all: why" in make check-all only.
MARKS	:= $(shell grep -rEo --include='*.[ct]' \
	'^(/\*|\#) test: (slow [0-9]+|alone|release|tsan|check-all)' tests | \
	sed -E 's,^([^:]*):.* test: ([a-z-]+) ?([0-9]*)$$,\3 \2=\1,; s,\.c$$,,' | \
	LC_ALL=C sort -rn -k 1,1 | sed 's,.* ,,')
marked	= $(patsubst $(1)=%,%,$(filter $(1)=%,$(MARKS)))
slow_first = $(foreach n,$(call marked,slow),$(filter $n %/$n,$(1))) \
	   $(filter-out $(foreach n,$(call marked,slow),$n %/$n),$(1))
TESTS	:= $(call slow_first,$(call progs, \
	   tests/unit/*.c tests/behaviour/*.c))
DAEMON_TESTS := $(call progs,tests/daemon/*.c)
# of the cluster's side: all but the daemon's main(), linked as it is needed
SHIM_PB	:= $(BUILD)/src/shim/store/etcd.pb-c
SHIM_OBJ := $(call objects_of,shim) $(SHIM_PB).o
SHIMD	:= $(BUILD)/leasehold-shimd
SHIM_A	:= $(BUILD)/libshim.a
DAEMON_A := $(BUILD)/libdaemon.a
SHIM_LIBS := -lnghttp2 -levent_openssl -levent_extra -levent_core -lssl \
	   -lcrypto -lprotobuf-c
SHIM_TESTS := $(call slow_first,$(call progs,tests/shim/*.c))
CXX_TEST := $(BUILD)/tests/cxx/wrapper
FUZZ_NAMES := image fence etcd frame shim
FUZZERS	:= $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/%)
REPLAYS	:= $(call slow_first,$(filter-out %/replay, \
	   $(call progs,tests/replay/*.c)))
FENCES	:= $(addprefix $(BUILD)/tests/fence/,images claimants rivals)
# The tests of a folder are joined too, but those that are linked apart.
TESTED	:= $(if $(JOINING),$(TESTED_$(F)))
apart_tests := $(call marked,alone) $(call marked,release) \
	   tests/unit/api-beside-openssl tests/replay/replay
$(foreach d,$(TESTED),$(eval join_tests-$d := $(filter-out \
	   $(apart_tests:%=%.c),$(wildcard tests/$d/*.c))))
JOINED_TESTS := $(TESTED:%=build/joined/tests-%.mk)
-include $(JOINED_TESTS)
FLIPS	:= $(BUILD)/tests/flips/flips

.PHONY: man all lib tool reaperd shim preload tests daemon-tests shim-tests cxx replays step chaos demo \
	run check check-all check-unit check-release check-memcheck check-tsan \
	check-tsan-exclusive check-tsan-shared check-tsan-live check-command \
	check-daemon check-shim check-replay check-mutants check-crash check-stop \
	check-double check-chaos check-model check-fuzz fuzz fuzz-search fuzzers lint \
	abi-check abi-update check-abi check-layout format-update loops-update \
	bench bench-check check-bench bench-update install uninstall clean help deps

all: lib tool reaperd shim preload

help:
	@echo 'make run	see it work: real processes, killed and stopped (1 min)'
	@echo 'make check	prove it (under 10 min on 2 cores)'
	@echo 'make		build the library and the command in build/release'
	@echo 'make bench	how fast, beside what; QUICK=1, TSV=1'
	@echo 'make bench-curves	draw doc/img: how costs grow (6 min, a quiet machine); QUICK=1'
	@echo 'make screenshot	draw doc/img/top*.svg anew'
	@echo 'make coverage	lines of src/ that the tests run (clang; 6 min)'
	@echo 'make bench-check	instructions of the hot pairs, against bench/count/record; bench-update'
	@echo 'make install	to $(PREFIX); DESTDIR is honoured'
	@echo 'make dist	a tarball in build/, the same bytes each time'
	@echo 'make fuzz	look for inputs that do harm (10 min a fuzzer)'
	@echo 'make check-all	all of it, without shortcuts (hours); resumable'
	@echo 'make abi-check	is the binary interface that of tests/abi? abi-update'
	@echo 'make format-update	write the byte maps of doc/format.md anew'
	@echo 'make loops-update	write the list of doc/loops.md anew'
	@echo 'check-unit -release -memcheck -tsan -command -env -daemon -shim -cluster'
	@echo '-replay -mutants -crash -stop -double -chaos -fuzz -fence -flips -arm64 -packages -peers -model -abi -layout -bench -curves, lint: the layers of check'

lib: $(LIB_A) $(LIB_SO) $(BUILD)/libleasehold.so
# sections 3 and 7: made from the headers' comments
man: build/man/made
build/man/made: tools/man3 doc/api.md $(wildcard include/*.h include/*/*.h \
    doc/man/examples/*.c)
	$(call say,MAN)
	$(Q)rm -rf build/man && tools/man3 build/man && touch $@
tool: $(TOOL)
reaperd: $(REAPERD)
shim: $(SHIMD)
preload: $(PRELOAD)
# (not what is not run under ASan)
tests: $(filter-out $(if $(filter asan,$(F)),$(addprefix $(BUILD)/,$(call \
    marked,release))),$(TESTS))
daemon-tests: $(DAEMON_TESTS)
shim-tests: $(SHIM_TESTS)
cxx: $(CXX_TEST)
replays: $(REPLAYS)
fuzzers: $(FUZZERS)
step: $(STEP)
chaos: $(CHAOS) $(REJECTS)
demo: $(DEMO)

# clang parses once what most files include (tests/support/prefix_*.h): a third
# of the time of a file.  gcc does not gain by it.  ccache cannot use it.
PARSED_ONCE := $(if $(filter clang,$(CC)),$(if $(filter %ccache,$(realpath \
	   $(shell command -v clang))),,prefix))
# they define something before an include, or are optimised otherwise
WITHOUT_PREFIX := tests/unit/api-beside-openssl tests/support/tap $(OPTIMISED) \
	   tests/shim/support/% tests/fuzz/%
SUPPORTED := $(addprefix tests/,$(addsuffix /%,unit behaviour shim replay \
	   daemon support))
prefix_of = $(if $(filter $(WITHOUT_PREFIX),$(1)),,$(if $(filter \
	   $(SUPPORTED),$(1)),tests,$(if $(filter src/shim/% src/daemon/%,$(1)), \
	   src/shim,src))/prefix.pch)
prefix	= $(if $(PARSED_ONCE),$(addprefix $(BUILD)/,$(call prefix_of,$(1))))
.SECONDEXPANSION:
$(BUILD)/src/prefix.pch $(BUILD)/src/shim/prefix.pch $(BUILD)/tests/prefix.pch: \
    $(BUILD)/%/prefix.pch: tests/support/prefix_$$(notdir $$*).h
	$(made_dir)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_$*) -x c-header -MMD -MP -MF $(@:.pch=.d) \
	    -c -o $@ $< || { tools/missing $(CC); exit 1; }

$(BUILD)/%.o: %.c $$(call prefix,$$*)
	$(made_dir)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_$(firstword $(subst /, ,$*))) $(RENAME) \
	    $(addprefix -include-pch ,$(filter %.pch,$^)) \
	    -MMD -MP -c -o $@ $< || { tools/missing $(CC); exit 1; }

# a list that has changed, and a source or a header
build/joined/%.mk: tools/join $$(join_$$*) $(wildcard include/*/*.h src/*/*.h \
    src/*/*/*.h tests/*.h tests/*/*.h tests/shim/*/*.h) $$(if $$(filter-out $$(sources_$$*),$$(join_$$*))$$(filter-out \
    $$(join_$$*),$$(sources_$$*)),FORCE)
	$(call say,JOIN)
	$(Q)tools/join build/joined/$* $(join_$*)

$(BUILD)/joined/%.o: build/joined/%.c $$(call prefix,src/$$*)
	$(made_dir)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -I. $(addprefix -include-pch ,$(filter %.pch,$^)) \
	    -MMD -MP -c -o $@ $< || { tools/missing $(CC); exit 1; }

$(BUILD)/joined/tests-%.o: build/joined/tests-%.c $$(call prefix,tests/unit/$$*)
	$(made_dir)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -I. $(EXTRA_tests) $(RENAME) \
	    $(addprefix -include-pch ,$(filter %.pch,$^)) \
	    -MMD -MP -c -o $@ $< || { tools/missing $(CC); exit 1; }

# A replay computes nothing; the stepper does.  UBSan judges the library and the
# daemons, not the tests: a third of what compiling these takes.
# tests/support/tap.c has the functions of tap.h.
EXTRA_tests = -Itests $(if $(filter asan,$(F)),-O0 -g1 -fno-sanitize=undefined, \
	   $(if $(filter tests/replay/% replay/%,$*),-O0 -g1,$(QUICK_CC))) \
	   $(if $(filter $(SUPPORTED) tests $(TESTED:%=%/%),$*),-DTAP_SHARED)
EXTRA_bench := -I. -Ibench
EXTRA_tools := -Itools

$(LIB_A): $(LIB_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(LIB_SO): $(LIB_OBJ) src/leasehold.map
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=src/leasehold.map -Wl,-z,nodelete \
	    $(ALL_LDFLAGS) -o $@ $(LIB_OBJ) $(LDLIBS)

# The one library of the process, because it may have its own use of it.  What
# finds that library is the loader, or the program.
$(PRELOAD): $(call objs,bindings/preload/*.c) $(BUILD)/libleasehold.so
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete $(ALL_LDFLAGS) \
	    -o $@ $(filter %.o,$^) -L$(BUILD) -lleasehold -pthread

$(BUILD)/libleasehold.so: $(LIB_SO)
	$(Q)ln -sf $(SONAME) $@

link = $(call say,LINK)
link_with = $(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

# One program a folder, and each test's name is a link to it: its main() is
# called main_of_NAME there, and the program goes by the name that it is
# called by (tests/support/multicall.h).  A test that is marked alone is not in
# it, nor are the few that are built for TSan.
ALONE	:= $(addprefix $(BUILD)/,$(call marked,alone) $(call marked,release) \
	   $(if $(filter tsan,$(F)),$(call marked,tsan)))
IN_ONE	:= $(filter-out $(ALONE),$(TESTS) $(SHIM_TESTS) $(REPLAYS))
ONES	:= $(addprefix $(BUILD)/,$(addsuffix /all-in-one,tests/unit \
	   tests/behaviour tests/shim tests/replay))
of_one	= $(sort $(filter $(BUILD)/$(1)/%,$(IN_ONE)))
objects_of_one = $(joined_tests-$(1):%=$(BUILD)/joined/tests-$(1)/%.o) \
	   $(addsuffix .o,$(filter-out $(join_tests-$(1):%.c=$(BUILD)/%), \
	   $(call of_one,tests/$(1))))
$(IN_ONE:%=%.o): RENAME = -Wno-missing-prototypes \
    -Dmain=main_of_$(subst -,_,$(basename $(@F)))
$(BUILD)/joined/tests-%.o: RENAME = -Wno-missing-prototypes
$(IN_ONE:%=%.o): tests/support/multicall.h

# which tests there are changes when one is added, or removed
.PHONY: FORCE
$(ONES:%=%.c): $(BUILD)/%/all-in-one.c: FORCE
	@mkdir -p $(@D)
	$(Q){ echo '#define TESTS(X) \'; \
	    printf '\tX(main_of_%s) \\\n' \
	    $(notdir $(subst -,_,$(call of_one,$*))); \
	    echo; echo '#include "support/multicall.h"'; } >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(ONES:%=%.o): %.o: %.c tests/support/multicall.h
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_tests) -c -o $@ $<

link_names = $(Q)for t in $(notdir $(IN_THIS)); do \
	    ln -sf all-in-one $(@D)/$$t || exit; done
$(BUILD)/tests/unit/all-in-one: IN_THIS = $(call of_one,tests/unit)
$(BUILD)/tests/behaviour/all-in-one: IN_THIS = $(call of_one,tests/behaviour)
$(BUILD)/tests/shim/all-in-one: IN_THIS = $(call of_one,tests/shim)
$(BUILD)/tests/replay/all-in-one: IN_THIS = $(call of_one,tests/replay)

$(IN_ONE): $$(@D)/all-in-one ;

$(BUILD)/tests/unit/all-in-one $(BUILD)/tests/behaviour/all-in-one: \
    $(BUILD)/%/all-in-one: $(BUILD)/%/all-in-one.o \
    $$(call objects_of_one,$$(notdir $$*)) \
    $(call objs,tests/support/*.c) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with)
	$(link_names)

$(filter $(ALONE),$(TESTS)) $(DAEMON_TESTS): $(BUILD)/%: $(BUILD)/%.o \
    $(call objs,tests/support/*.c) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with)

# what an application's compiler sees of the header
$(BUILD)/%.o: %.cc
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Wpedantic -Werror \
	    -Iinclude -O1 -g1 $(CFLAGS_$(F)) -MMD -MP -c -o $@ $<

$(CXX_TEST): $(patsubst %.cc,$(BUILD)/%.o,$(wildcard tests/cxx/*.cc)) $(LIB_A)
	$(link)
	$(Q)$(CXX) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/replay/all-in-one: $(BUILD)/tests/replay/all-in-one.o \
    $(call objects_of_one,replay) $(BUILD)/tests/replay/replay.o \
    $(call objs,tests/support/*.c) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with)
	$(link_names)

$(FLIPS): $(call objs,tests/flips/*.c) $(call objs,tests/support/*.c) \
    $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with)

$(FENCES): $(BUILD)/%: $(BUILD)/%.o $(filter-out $(FENCES:%=%.o),$(call \
    objs,tests/fence/*.c)) $(call objs,tests/support/*.c) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with)

# leasehold-preload finds it, and leaves the command's and the daemons' own locks
# alone
OWN_KEYS := -Wl,--export-dynamic-symbol=leasehold_holds_its_own_keys

$(TOOL): $(call objs,tools/*.c) $(DAEMON_A) $(LIB_A)
	$(link)
	$(link_with) $(OWN_KEYS) -ljansson -lncursesw -ltinfo

# what the daemons and the command have in common
DAEMON_OBJ := $(call objs,src/daemon/*.c)
# the parts of the reaper; tests call them too
REAPER_OBJ := $(addprefix $(BUILD)/src/reaper/,reap.o expiry_scan.o sweep.o \
    death_watch.o)
REAPERD_OBJ := $(filter-out $(REAPER_OBJ),$(call objs,src/reaper/*.c))
SHIMD_OBJ := $(BUILD)/src/shim/agent/shim_main.o
$(REAPERD_OBJ) $(DAEMON_OBJ) $(SHIM_OBJ) $(SHIMD_OBJ): ALL_CFLAGS += \
    -DSYSCONFDIR='"$(SYSCONFDIR)"' \
    -DSTATEDIR='"$(STATEDIR)"'

$(DAEMON_A): $(DAEMON_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(REAPER_A): $(REAPER_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(REAPERD): $(REAPERD_OBJ) $(DAEMON_A) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with) $(OWN_KEYS) -linih

# What is on etcd's wire.
$(SHIM_PB).c: src/shim/store/etcd.proto
	@mkdir -p $(@D)
	$(call say,PB)
	$(Q)protoc-c --proto_path=src/shim/store --c_out=$(@D) $<

$(SHIM_PB).h: $(SHIM_PB).c
$(SHIM_PB).o: $(SHIM_PB).c
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

SHIM_TEST_OBJ := $(SHIM_TESTS:%=%.o) $(call objs,tests/shim/support/*.c) \
    $(call objects_of_one,shim)
$(SHIM_OBJ) $(SHIM_TEST_OBJ): ALL_CFLAGS += -I$(BUILD)/src
$(filter-out $(SHIM_PB).o,$(SHIM_OBJ)) $(SHIM_TEST_OBJ): | $(SHIM_PB).h

$(SHIM_A): $(SHIM_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(SHIMD): $(SHIMD_OBJ) $(SHIM_A) $(DAEMON_A) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with) $(OWN_KEYS) $(SHIM_LIBS) -linih

# each test takes of it what it needs
SHIM_SUPPORT := $(BUILD)/libshimtest.a
$(SHIM_SUPPORT): $(call objs,tests/shim/support/*.c)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/tests/shim/all-in-one: $(BUILD)/tests/shim/all-in-one.o \
    $(call objects_of_one,shim) $(SHIM_SUPPORT) \
    $(call objs,tests/support/*.c) $(SHIM_A) $(DAEMON_A) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with) $(SHIM_LIBS) -linih
	$(link_names)

$(filter $(ALONE),$(SHIM_TESTS)): $(BUILD)/%: $(BUILD)/%.o $(SHIM_SUPPORT) \
    $(call objs,tests/support/*.c) $(SHIM_A) $(DAEMON_A) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with) $(SHIM_LIBS) -linih

# memory that is not there at the moment
$(BUILD)/tests/shim/shimd-no-memory: ALL_LDFLAGS += -Wl,--wrap=calloc \
    -Wl,--wrap=strdup

# processes of a cluster's hosts; a shim that is killed or stopped by itself
CLUSTER	:= $(addprefix $(BUILD)/tests/cluster/,contend cutter flood)
STEPPED	:= $(BUILD)/tests/cluster/stepped
$(CLUSTER): %: %.o $(LIB_A)
	$(link)
	$(link_with)

$(STEPPED): $(STEPPED).o $(SHIMD_OBJ) $(SHIM_A) $(DAEMON_A) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with) $(SHIM_LIBS) -linih

$(STEP): $(call objs,tests/crash/*.c) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with) -rdynamic -ldl

$(CHAOS): $(call objs,tests/stress/*.c) $(HISTORY) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with)

$(REJECTS): $(call objs,tests/stress/unit/*.c) $(HISTORY) $(LIB_A)
	$(link)
	$(link_with)

$(BUILD)/tests/fuzz/etcd $(BUILD)/tests/fuzz/shim: $(SHIM_A) $(DAEMON_A)
# with shim_main.c, or (F=libfuzzer) clang's
$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $$(call objs,$$*-*.c) \
    $(BUILD)/tests/fuzz/fuzz.o \
    $(if $(filter libfuzzer,$(F)),,$(BUILD)/tests/fuzz/main.o) $(REAPER_A) $(LIB_A)
	$(link)
	$(link_with) -Wl,--wrap=clock_nanosleep \
	    $(if $(filter %/etcd %/shim,$@),$(LIB_A) $(SHIM_LIBS) -linih) \
	    $(if $(filter libfuzzer,$(F)),-fsanitize=fuzzer)

$(DEMO): $(call objs,tests/demo/*.c) $(HISTORY) $(LIB_A)
	$(link)
	$(link_with)

# operations in environments: see tests/env/run
ENV_OPS	:= $(BUILD)/tests/env/env-ops
$(ENV_OPS): $(call objs,tests/env/*.c tests/support/seccomp.c) $(LIB_A)
	$(link)
	$(link_with)

# it gives the benchmark's process what a shim would
LENDER	:= $(BUILD)/bench/lender/lender
$(LENDER): $(call objs,bench/lender/*.c) $(LIB_A)
	$(link)
	$(link_with)

# counts instructions, with the shared library alone
COUNT	:= $(BUILD)/bench/count/count
# what bench/ has in common with `leasehold bench`
BENCH_COMMON := $(addprefix $(BUILD)/tools/,bench_clock.o bench_machine.o \
	   bench_peers.o bench_process.o bench_relay.o bench_rounds.o)
$(COUNT): $(call objs,bench/count/*.c bench/process.c) $(BENCH_COMMON) \
    $(BUILD)/libleasehold.so
	$(link)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(BUILD) -lleasehold \
	    -Wl,-rpath,'$$ORIGIN/../..' -pthread

# of the cluster's side: its connection to etcd, and its recipe
$(BENCH): $(call objs,bench/*.c) $(BENCH_COMMON) $(BUILD)/libleasehold.so $(SHIM_A) \
    $(DAEMON_A) $(LIB_A) | $(LENDER) $(SHIMD) $(COUNT)
	$(link)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(SHIM_A) $(DAEMON_A) \
	    -L$(BUILD) -lleasehold $(LIB_A) -Wl,-rpath,'$$ORIGIN/..' -ldb-5.3 \
	    -ltdb -lbsd \
	    $(SHIM_LIBS) -pthread

# points of the pictures in doc/img
CURVES	:= $(BUILD)/bench/curves/curves
$(CURVES): $(call objs,bench/curves/*.c) $(addprefix $(BUILD)/bench/,bare.o \
    contest.o etcd.o process.o report.o waiters.o) $(BENCH_COMMON) \
    $(BUILD)/libleasehold.so $(SHIM_A) $(DAEMON_A) $(LIB_A)
	$(link)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(SHIM_A) $(DAEMON_A) \
	    -L$(BUILD) -lleasehold $(LIB_A) -Wl,-rpath,'$$ORIGIN/../..' \
	    -ldb-5.3 -ltdb -lbsd $(SHIM_LIBS) -pthread

# --- the two commands of a newcomer ------------------------------------------
deps-run deps-check deps-all deps-packages deps-bench deps-curves: deps-%:
	@tools/deps $*

# after the packages are there, so that a bare machine gets this far
run: deps-run
	@$(MAKE) --no-print-directory -s -j2 demo
	@$(DEMO)

# Several at a time, begun in this order: one that waits beside one that
# computes, and those that take long before those that do not.
LAYERS	?= lint model command crash abi layout bench daemon cluster env shim unit \
	   mutants replay fence flips tsan chaos fuzz
check: deps-check
	@tests/layers $(LAYERS)

# All that there is, without shortcuts: hours.  It can be interrupted, and goes
# on from there.  The two searches without an end take as long as is said:
# make check-all CHAOS_SECONDS=3600 FUZZ_SECONDS=600 (a fuzzer).
ALL_LAYERS ?= lint analyze abi layout bench curves model unit memcheck command env daemon shim cluster replay \
	   mutants crash stop double fuzz fence flips release arm64 packages peers chaos tsan fuzz-search
check-all: deps-check deps-all deps-packages deps-arm64 deps-curves
	@tests/layers --all $(ALL_LAYERS)

# most of the tests wait most of the time
CPUS	:= $(shell nproc)
WAITERS	:= $(shell expr 2 '*' $(CPUS))
PROVE	:= tests/prove -j$(WAITERS)
# and those of the shim, and the replays, nearly all of it
PATIENT	:= tests/prove -j$(shell expr 4 '*' $(CPUS))
sub	= @$(MAKE) --no-print-directory -s -j$(CPUS)

# What each layer needs: built by itself or, while others wait, ahead of it
# (tests/layers, which then says that nothing is left to build: BUILT=1).
RELEASED = $(addprefix $(BUILD)/,$(call marked,release))
NEEDS_unit = F=asan tests
NEEDS_bindings = cxx lib tool $(RELEASED)
NEEDS_release = tests shim-tests lib
NEEDS_command = tool lib preload
NEEDS_daemon = all man daemon-tests
NEEDS_shim = F=asan shim-tests
NEEDS_cluster = tool shim reaperd cluster-tests
NEEDS_stepped = F=hooks stepped
NEEDS_replay = F=hooks replays
NEEDS_mutants = F=hooks replays step
NEEDS_fuzz = F=asan fuzzers
NEEDS_fence = F=hooks fences
NEEDS_crash = step
NEEDS_chaos = chaos
NEEDS_tsan = F=tsan chaos $(addprefix build/tsan/,$(call marked,tsan))
NEEDS_memcheck = tests lib
NEEDS_abi = lib
NEEDS_bench = $(COUNT)
NEEDS_lint = all
ready	= $(if $(BUILT),,$(sub) $(NEEDS_$(1)))
ready-%:
	$(sub) $(NEEDS_$*)

# Unit, behaviour and shim programs run under ASan and UBSan, leaks included.
# LH_TEST_SLOW: spans that a slower build must not be measured by are longer.
under_asan = LH_TEST_SLOW=3 ASAN_OPTIONS=detect_leaks=1
asaned	= $(call slow_first,$(addprefix build/asan/,$(filter-out \
	   $(call marked,release) $(if $(ALL),,$(call marked,check-all)), \
	   $(1:$(BUILD)/%=%))))
check-unit:
	$(call ready,unit)
	$(call ready,bindings)
	@LEASEHOLD_LIBRARY=$(abspath $(LIB_SO)) LEASEHOLD=$(abspath $(TOOL)) \
	    $(PROVE) $(call slow_first,$(wildcard tests/python/*.t)) \
	    $(CXX_TEST) $(RELEASED)
	@$(under_asan) $(PATIENT) $(call asaned,$(TESTS))

# the same, and the shim's, as they are installed: make check-all
check-release:
	$(call ready,release)
	@LEASEHOLD_LIBRARY=$(abspath $(LIB_SO)) \
	    $(PATIENT) $(call slow_first,$(TESTS) $(SHIM_TESTS))

# What is to be installed, as it was built: what the build of a package runs
# (debian/rules), in two minutes.  man3 judges the tree's pages, and takes long;
# run-sign's hostile job may end its parent (SIGIO), if both are a user's.
NOT_BUILT := tests/command/man3.t tests/command/run-sign.t
UNITS	:= $(filter $(BUILD)/tests/unit/%,$(TESTS))
NEEDS_built = tool lib preload $(UNITS)
.PHONY: check-built
check-built:
	$(call ready,built)
	@$(PROVE) $(UNITS)
	@LEASEHOLD=$(abspath $(TOOL)) tests/as-job $(PROVE) \
	    $(call slow_first,$(filter-out $(NOT_BUILT) $(call \
	    marked,check-all),$(wildcard tests/command/*.t)))

# Debian's packages, in clean systems: one after the other, the first makes them
NEEDS_packages = tool lib shim
PACKAGES := $(wildcard tests/packages/*.t)
.PHONY: check-packages
check-packages: deps-packages
	$(call ready,packages)
	@LEASEHOLD=$(abspath $(TOOL)) tests/prove -j1 tests/packages/build.t \
	    $(filter-out %/build.t,$(PACKAGES))

# Other projects' own tests over ours.  Their sources are fetched from Debian's
# archive; nothing of them is in the tree.
NEEDS_peers = tool lib preload
.PHONY: check-peers
check-peers: deps-check
	$(call ready,peers)
	@LEASEHOLD=$(abspath $(TOOL)) $(PROVE) $(wildcard tests/peers/*.t)

NEEDS_env = tool lib $(ENV_OPS)
.PHONY: check-env
check-env:
	$(call ready,env)
	@ALL=$(ALL) ENV_OPS=$(abspath $(ENV_OPS)) LEASEHOLD=$(abspath $(TOOL)) \
	    LEASEHOLD_LIBRARY=$(abspath $(LIB_SO)) $(PROVE) tests/env/run

check-command:
	$(call ready,command)
	@LEASEHOLD=$(abspath $(TOOL)) tests/as-job $(PROVE) \
	    $(call slow_first,$(filter-out $(if $(ALL),,$(call \
	    marked,check-all)),$(wildcard tests/command/*.t)))

check-daemon:
	$(call ready,daemon)
	@LEASEHOLD=$(abspath $(TOOL)) REAPERD=$(abspath $(REAPERD)) \
	    SHIMD=$(abspath $(SHIMD)) \
	    tests/as-job $(PROVE) $(call slow_first, \
	    $(wildcard tests/daemon/*.t)) $(DAEMON_TESTS)

# with etcd, which each test starts for itself
check-shim:
	$(call ready,shim)
	@$(under_asan) $(PATIENT) $(call asaned,$(SHIM_TESTS))

.PHONY: cluster-tests stepped check-cluster
cluster-tests: $(CLUSTER)
stepped: $(STEPPED)
# hosts with real etcd
check-cluster:
	$(call ready,cluster)
	$(call ready,stepped)
	@LEASEHOLD=$(abspath $(TOOL)) SHIMD=$(abspath $(SHIMD)) \
	    CONTEND=$(abspath $(BUILD)/tests/cluster/contend) \
	    CUTTER=$(abspath $(BUILD)/tests/cluster/cutter) \
	    REAPERD=$(abspath $(REAPERD)) \
	    STEPPED=$(abspath build/hooks/tests/cluster/stepped) \
	    STEPS='$(if $(ALL),all)' tests/as-job \
	    tests/prove -j$(shell expr 1 + $(CPUS)) \
	    $(call slow_first,$(wildcard tests/cluster/*.t))

check-replay:
	$(call ready,replay)
	@$(PATIENT) $(patsubst build/release/%,build/hooks/%,$(REPLAYS))

# A number of mutations of the corpus: in check always the same ones, in check-all
# others in each run.  Its finds go into the corpus, and so do those of `fuzz`.
FUZZ_RUNS ?= $(if $(ALL),200000,2000)
# of a table each run opens, checks and repairs one: 30 ms
FUZZ_RUNS_image ?= $(if $(ALL),20000,200)
check-fuzz:
	$(call ready,fuzz)
	$(sub) -O $(FUZZ_NAMES:%=check-fuzz-%) check-fuzz-seeds
.PHONY: check-fuzz-seeds
check-fuzz-seeds:
	@$(PROVE) tests/fuzz/seeds
check-fuzz-%:
	@ASAN_OPTIONS=detect_leaks=1 $(PROVE) build/asan/tests/fuzz/$* :: \
	    --runs $(or $(FUZZ_RUNS_$*),$(FUZZ_RUNS)) \
	    $(if $(ALL),--seed $(or $(FUZZ_SEED),0) --keep tests/fuzz/corpus/$*) \
	    tests/fuzz/corpus/$*

# needs clang and libclang-rt-dev: tools/deps fuzz
FUZZ_SECONDS ?= 600
fuzz fuzz-search:
	@tools/deps fuzz
	$(sub) F=libfuzzer CC=clang fuzzers
	@for f in $(FUZZ_NAMES); do mkdir -p build/libfuzzer/$$f && \
	    ASAN_OPTIONS=detect_leaks=0 build/libfuzzer/tests/fuzz/$$f \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=512 -timeout=20 \
	    -print_final_stats=1 -artifact_prefix=tests/fuzz/corpus/$$f/found- \
	    build/libfuzzer/$$f tests/fuzz/corpus/$$f || exit 1; done

# bits of a small table, flipped one at a time (ALL=1: every one)
NEEDS_flips = $(FLIPS)
.PHONY: check-flips
check-flips:
	$(call ready,flips)
	@tests/flips/check $(if $(ALL),--all)

.PHONY: fences check-fence
fences: $(FENCES)
check-fence:
	$(call ready,fence)
	@$(PROVE) $(patsubst build/release/%,build/hooks/%,$(FENCES))

check-mutants:
	$(call ready,mutants)
	@tests/replay/mutants

# The committed list of `make check`, killed and stopped at the points of two
# recordings; or (ALL=1) all, killed, of recordings of their own; or those that
# are named: make check-crash SCENES='release extend'.  STEP_ARGS=--full: each
# instruction.
SCENES	?= $(if $(ALL),--thorough,$$(tests/crash/check-list names))
check-crash:
	$(call ready,crash)
	@STEP=$(STEP) $(PROVE) tests/crash/check-list
	@$(PROVE) $(STEP) :: selftest $(if $(ALL),--thorough)
	@$(PROVE) $(STEP) :: $(if $(ALL),kill,both) $(SCENES) $(STEP_ARGS)

check-stop:
	$(call ready,crash)
	@$(PROVE) $(STEP) :: stop $(SCENES) $(STEP_ARGS)

# two deaths: a sample of the pairs (tests/crash/double.c), the same in both
# checks (STEP_ARGS='--stride 1': all)
check-double:
	$(call ready,crash)
	@$(PROVE) $(STEP) :: double $(SCENES) $(STEP_ARGS)

CHAOS_SECONDS ?= $(if $(ALL),3600,6)
check-chaos:
	$(call ready,chaos)
	@$(PROVE) $(REJECTS)
	@$(PROVE) $(CHAOS) :: --seconds $(CHAOS_SECONDS) --procs 8

TSAN_OPTIONS := halt_on_error=1 second_deadlock_stack=1
TSAN_SECONDS ?= $(if $(ALL),60,5)
check-tsan:
	$(call ready,tsan)
	$(sub) -O check-tsan-exclusive check-tsan-shared check-tsan-live

check-tsan-exclusive check-tsan-shared:
	@TSAN_OPTIONS='$(TSAN_OPTIONS)' $(PROVE) build/tsan/tests/stress/chaos \
	    :: --threads $(if $(filter %-shared,$@),--shared) \
	    --seconds $(TSAN_SECONDS)

check-tsan-live:
	@TSAN_OPTIONS='$(TSAN_OPTIONS)' $(PROVE) \
	    $(addprefix build/tsan/,$(call marked,tsan))

# it sees reads of memory that was never written; the sanitizers do not
check-memcheck:
	$(call ready,memcheck)
	@LEASEHOLD_LIBRARY=$(abspath $(LIB_SO)) tests/memcheck $(TESTS)

check-model:
	@RECORD=$(ALL) tests/model/run build/model

lint:
	$(call ready,lint)
	@tests/lint
	@tests/lint-selftest

# what other readers of C say, of all that there is (lint has clang's, of what
# is installed)
NEEDS_analyze = all
.PHONY: check-analyze
check-analyze: deps-all
	$(call ready,analyze)
	@for by in clang tests cppcheck gcc; do tests/analyze $$by || exit 1; \
	    echo "analyze: ok $$by"; done

# the layout fingerprint, and the byte maps of doc/format.md
check-layout:
	@$(PROVE) tests/layout/check $(if $(ALL),:: --all)

format-update:
	@tests/layout/check --update

# the list of doc/loops.md: make lint compares
loops-update:
	@tests/loops --update

abi-check check-abi:
	$(call ready,abi)
	@$(PROVE) tests/abi/check

abi-update:
	$(sub) lib
	@tests/abi/check --update

# Unit, behaviour and replay programs, cross-built and run by qemu-user, but
# those of tests/arm64/not-run.
NEEDS_arm64 = F=arm64 tests replays
.PHONY: deps-arm64 check-arm64
deps-arm64:
	@tools/deps arm64
check-arm64: deps-arm64
	$(call ready,arm64)
	@tests/arm64/run $(patsubst build/release/%,build/arm64/%,$(TESTS) $(REPLAYS))

# --- bench -------------------------------------------------------------------
bench: $(if $(TSV),,deps-bench)
	@$(if $(TSV),tools/deps bench >&2)
	$(sub) $(BENCH) $(if $(TSV),>&2)
	@$(BENCH) $(if $(QUICK),--quick) $(if $(TSV),--tsv)

# Lines and branches that tests run: those of callers, the command, the daemons and
# real clusters, and the replays.
.PHONY: coverage
coverage:
	@tools/deps coverage
	$(sub) F=coverage tests shim-tests replays fences tool lib reaperd shim \
	    preload man daemon-tests cluster-tests stepped \
	    build/coverage/tests/env/env-ops
	@tests/coverage build/coverage $(patsubst build/release/%,\
	    build/coverage/%,$(TESTS) $(SHIM_TESTS) $(REPLAYS) $(FENCES) \
	    $(DAEMON_TESTS))

# The pictures of doc/performance.md, on a machine that is quiet for 6 minutes.
# QUICK=1: fewer points, for a test (check-curves), into build/curves.
.PHONY: bench-curves check-curves
CURVES_TO ?= $(if $(QUICK),build/curves,doc/img)
bench-curves: deps-curves
	$(sub) $(CURVES)
	@bench/curves/run $(CURVES) $(CURVES_TO) $(if $(QUICK),--quick)
# `leasehold top`, as it looks
.PHONY: screenshot
screenshot: deps-curves $(TOOL)
	@tools/screenshot
NEEDS_curves = $(CURVES)
check-curves: deps-curves
	$(call ready,curves)
	@$(PROVE) bench/curves/check :: $(CURVES)

# The instructions of the hot pairs, counted: exact, without a clock.
bench-check check-bench:
	$(call ready,bench)
	@tests/prove bench/count/check :: $(COUNT)
bench-update: $(COUNT)
	@bench/count/check --update $(COUNT)

# --- install -----------------------------------------------------------------
# tools/install has the list
INSTALL_WITH = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' \
    PYTHONDIR='$(PYTHONDIR)' BUILD='$(BUILD)' SONAME='$(SONAME)' \
    VERSION='$(VERSION)'
install: all man
	@$(INSTALL_WITH) tools/install install

uninstall: man
	@$(INSTALL_WITH) tools/install uninstall

# the same bytes each time, in a clone and in what it packs
.PHONY: dist
dist:
	@tools/dist $(VERSION)

clean:
	rm -rf build

ifneq ($(COMPILED),)
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
endif
