# SPDX-License-Identifier: MIT
# leasehold: `make run` shows it, `make check` proves it, `make help` lists the
# rest.

# --- configuration -----------------------------------------------------------
VERSION	:= 0.1.0
SONAME	:= libleasehold.so.0
PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib
CC	?= gcc
# release, asan (ASan + UBSan), tsan, hooks (named points compiled in), or
# mutant-N (amendment N of the protocol left out; also has hooks)
F	?= release
V	?= 0

BUILD	:= build/$(F)
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wundef -Wno-unused-parameter
CFLAGS	?= -O2 -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -pthread -fPIC -fvisibility=hidden \
	   -Iinclude -Isrc $(WARN) $(CFLAGS) $(CFLAGS_$(F)) $(CFLAGS_MUTANT)
LDLIBS	:= -lurcu-bp -lurcu-cds -lurcu-common -lbsd -pthread
ALL_LDFLAGS = -Wl,-z,defs -Wl,-z,now $(LDFLAGS) $(CFLAGS_$(F))

# why these two: doc/performance.md
CFLAGS_release	:= -fno-tree-vectorize -fno-shrink-wrap
CFLAGS_asan	:= -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		   -fno-omit-frame-pointer -O1
CFLAGS_tsan	:= -fsanitize=thread -O1
CFLAGS_hooks	:= -DLHI_HOOKS
ifneq ($(filter mutant-%,$(F)),)
CFLAGS_MUTANT	:= -DLHI_HOOKS -DLHI_MUTANT=$(patsubst mutant-%,%,$(F))
endif

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $@)

# --- what there is -----------------------------------------------------------
LIB_SRC	:= $(wildcard src/base/*.c src/prim/*.c src/shm/*.c src/proc/*.c \
	   src/op/*.c src/api/*.c)
LIB_OBJ	:= $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB_A	:= $(BUILD)/libleasehold.a
LIB_SO	:= $(BUILD)/$(SONAME)
TOOL	:= $(BUILD)/leasehold
TOOL_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tools/*.c))
SUPPORT	:= $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
TESTS	:= $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c \
	   tests/behaviour/*.c))

.PHONY: all lib tool tests
all: lib tool
lib: $(LIB_A) $(LIB_SO) $(BUILD)/libleasehold.so
tool: $(TOOL)
tests: $(TESTS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_$(firstword $(subst /, ,$*))) -MMD -MP -c -o $@ $<

EXTRA_tests := -Itests
EXTRA_bench := -Ibench
EXTRA_tools := -Itools

$(LIB_A): $(LIB_OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(LIB_SO): $(LIB_OBJ) src/leasehold.map
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=src/leasehold.map -Wl,-z,nodelete \
	    $(ALL_LDFLAGS) -o $@ $(LIB_OBJ) $(LDLIBS)

$(BUILD)/libleasehold.so: $(LIB_SO)
	$(Q)ln -sf $(SONAME) $@

$(TESTS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT) $(LIB_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(TOOL): $(TOOL_OBJ) $(LIB_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS) -ljansson

# --- programs that prove it --------------------------------------------------
STEP	:= $(BUILD)/tests/crash/step
CHAOS	:= $(BUILD)/tests/stress/chaos
DEMO	:= $(BUILD)/tests/demo/demo
BENCH	:= $(BUILD)/bench/bench
objs	= $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))

$(STEP): $(call objs,tests/crash/*.c) $(LIB_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic -o $@ $^ $(LDLIBS) -ldl

$(CHAOS): $(call objs,tests/stress/*.c) $(LIB_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(DEMO): $(call objs,tests/demo/*.c) $(LIB_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(BENCH): $(call objs,bench/*.c) $(BUILD)/libleasehold.so
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(BUILD) -lleasehold \
	    -Wl,-rpath,'$$ORIGIN/..' -ldb-5.3 -ltdb -pthread

-include $(shell find build -name '*.d' 2>/dev/null)
