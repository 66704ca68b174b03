# onnxtool: one program on one static library. `make help` lists the targets.
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

CONFIG ?= release
PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build/$(CONFIG)

CC ?= gcc
PKG_CONFIG ?= pkg-config
PROTOC_C ?= protoc-c
Q := $(if $(V),,@)

PACKAGES := libprotobuf-c zlib libpng libjpeg libpcre2-8
# What few inputs need: headers build it in, the library is loaded by its soname when the first such input comes. cJSON is always there.
LAZY_PACKAGES := libcjson
OPTIONAL_PACKAGES := libwebp libtiff-4 libopenjp2
soname = $(shell objdump -p "$$($(CC) -print-file-name=lib$(1).so)" 2>/dev/null | sed -n 's/^ *SONAME *//p')
codec_flag = $(foreach so,$(call soname,$(2)),-DOX_SONAME_$(1)=$(so))
CODEC_FLAGS := -DOX_SONAME_CJSON=$(or $(call soname,cjson),libcjson.so.1) $(call codec_flag,WEBP,webp) $(call codec_flag,TIFF,tiff) $(call codec_flag,OPENJPEG,openjp2) \
	$(foreach p,$(LAZY_PACKAGES) $(OPTIONAL_PACKAGES),$(shell $(PKG_CONFIG) --cflags $(p) 2>/dev/null))

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wpointer-arith -Wcast-qual -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wundef -Wwrite-strings -Wformat=2
WERROR ?= -Werror
FLAGS_release := -O3 -g1 -DNDEBUG -ffunction-sections -fdata-sections
FLAGS_debug := -O0 -g3
# Functions of many accesses call the check instead of holding it: compiling the kernels takes a fifth of the time.
# What null and object-size find the address sanitizer finds too; checking it twice takes a third of the time to compile.
FLAGS_sanitize := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=undefined -DOX_SANITIZE \
	--param asan-instrumentation-with-call-threshold=300
FLAGS_coverage := -O0 -g --coverage
# Fixed addresses: the tables hold 30,000 pointers, and relocating them is half of what a small command takes.
LINK_release := -no-pie
# What a small command touches lies side by side (the file says how it is made).
LINK_PROGRAM_release := -Wl,-z,now -Wl,--gc-sections -Wl,-T,scripts/near.ld
LINK_sanitize := -fsanitize=address,undefined
LINK_coverage := --coverage

# No contraction, no errno, no traps: paths that must agree do (STYLE: floating point).
CFLAGS_ALL := -std=c11 -D_GNU_SOURCE $(FLAGS_$(CONFIG)) $(WARNINGS) $(WERROR) -ffp-contract=off -fno-math-errno \
	-fno-trapping-math -pthread -Ilib -I$(BUILD)/gen $(CODEC_FLAGS) \
	$(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null) $(CFLAGS)
LDLIBS_ALL := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) -lm -ldl -pthread $(LDLIBS)
# Libraries that the program takes from their archives where there are such: to load five shared ones costs more time and memory than
# the check of a small model. `make ARCHIVES=` links them all as they come.
ARCHIVES ?= $(if $(filter release,$(CONFIG)),protobuf-c z png16 png jpeg pcre2-8)
archive = $(wildcard $(shell $(CC) -print-file-name=lib$(1).a))
PROGRAM_LIBS = -Wl,--start-group $(foreach flag,$(LDLIBS_ALL),\
	$(or $(if $(filter $(ARCHIVES:%=-l%),$(flag)),$(call archive,$(flag:-l%=%))),$(flag))) -Wl,--end-group

LIB_SOURCES := $(sort $(wildcard lib/*/*.c lib/*/*/*.c))
LIB_SOURCES := $(filter-out lib/tests/%,$(LIB_SOURCES))
# kernels/<arch>/ is for that processor alone; x_<isa>.c is compiled for the instruction set in its name.
TARGET := $(shell $(CC) -dumpmachine 2>/dev/null)
ifeq ($(filter x86_64%,$(TARGET)),)
LIB_SOURCES := $(filter-out lib/kernels/x86/%,$(LIB_SOURCES))
endif
ifeq ($(filter aarch64%,$(TARGET)),)
LIB_SOURCES := $(filter-out lib/kernels/arm/%,$(LIB_SOURCES))
endif
ISA_avx2 := -mavx2 -mfma -mf16c
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl
ISA_vnni := $(ISA_avx512) -mavx512vnni
# Compilers older than the instructions leave them out.
if_known = $(shell $(CC) $(1) -E -x c /dev/null >/dev/null 2>&1 && echo $(1))
ISA_avxvnni := $(ISA_avx2) $(call if_known,-mavxvnni)
ISA_amx := $(ISA_vnni) $(call if_known,-mamx-tile -mamx-int8 -mamx-bf16)
ISA_dotprod := -march=armv8.2-a+dotprod
# The instruction set in the name of a source, as flags.
isa_flags = $(foreach i,avx2 avxvnni avx512 vnni amx,$(if $(filter lib/kernels/x86/%_$(i).c,$(1)),$(ISA_$(i)))) \
	$(if $(filter lib/kernels/arm/%_dotprod.c,$(1)),$(ISA_dotprod)) \
	$(if $(filter lib/tests/%_emulated.c,$(1)),-Wno-psabi) \
	$(if $(filter sanitize-lib/kernels/x86/compute_avx512.c,$(CONFIG)-$(1)),$(UNCHECKED)) \
	$(if $(filter $(FORMS:%=sanitize-lib/kernels/x86/%.c),$(CONFIG)-$(1)),$(ADDRESSES))
# With the sanitizers' checks its forms take minutes to compile: those of the same templates for AVX2 stand for them.
UNCHECKED := -fno-sanitize=all
# Of these the addresses are checked; what is undefined is found where lib/tests compiles the same templates for emulated vectors.
FORMS := compute_avx2 integer_vnni integer_words_vnni integer_avx512
ADDRESSES := -fno-sanitize=undefined
CLI_SOURCES := $(sort $(wildcard cli/*.c))
TEST_SOURCES := $(sort $(wildcard lib/tests/test_*.c))
# It takes malloc over, which the sanitizers need for themselves.
ifeq ($(CONFIG),sanitize)
TEST_SOURCES := $(filter-out %/test_out_of_memory.c,$(TEST_SOURCES))
endif
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/gen/proto/onnx.pb-c.o
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(BUILD)/%.o)
TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(sort $(filter-out lib/tests/test_%,$(wildcard lib/tests/*.c))))
TEST_PROGRAMS := $(TEST_SOURCES:%.c=$(BUILD)/%)

LIBRARY := $(BUILD)/libonnxtool.a
TEST_LIBRARY := $(BUILD)/libtestsupport.a
PROGRAM := $(BUILD)/onnxtool

# What compiles and what is linked, in files that change only when it does: what was made otherwise is made again.
$(BUILD)/compile.flags: TEXT = $(filter-out %ccache,$(CC)) $(CFLAGS_ALL) $(foreach i,avx2 avxvnni avx512 vnni amx dotprod,$(ISA_$(i)))
$(BUILD)/link.flags: TEXT = $(LINK_$(CONFIG)) $(LINK_PROGRAM_$(CONFIG)) $(LDFLAGS) $(LDLIBS_ALL) $(ARCHIVES) $(LIB_OBJECTS) $(CLI_OBJECTS)
$(BUILD)/compile.flags $(BUILD)/link.flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(TEXT))' > $@.$$$$ && if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi

## all: build the library and the program (CONFIG=release|debug|sanitize|coverage)
all: $(LIBRARY) $(if $(CLI_SOURCES),$(PROGRAM))

$(PROGRAM): $(CLI_OBJECTS) $(LIBRARY) scripts/near.ld $(BUILD)/link.flags
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK_$(CONFIG)) $(LINK_PROGRAM_$(CONFIG)) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(PROGRAM_LIBS)

$(LIBRARY): $(LIB_OBJECTS) $(BUILD)/link.flags
	@echo "  AR   $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/gen/proto/onnx.pb-c.c $(BUILD)/gen/proto/onnx.pb-c.h &: proto/onnx.proto
	@mkdir -p $(BUILD)/gen
	@echo "  PROTOC-C $<"
	$(Q)$(PROTOC_C) --c_out=$(BUILD)/gen $<

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/compile.flags
	@echo "  CC   $<"
	$(Q)$(CC) $(CFLAGS_ALL) -w -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.c $(BUILD)/compile.flags | $(BUILD)/gen/proto/onnx.pb-c.h
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(CFLAGS_ALL) $(call isa_flags,$<) -MMD -MP -c -o $@ $<

# An archive, so that a test takes what it uses.
$(TEST_LIBRARY): $(TEST_SUPPORT)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(TEST_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(TEST_LIBRARY) $(LIBRARY)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK_$(CONFIG)) -Wl,--wrap=_mark_point $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs check) $(LDLIBS_ALL)

## tests: build the test programs
tests: $(TEST_PROGRAMS)

## test: build and run all tests: unit tests, command-line cases, the ONNX suite's cases
test: all tests
	$(Q)BUILD=$(BUILD) scripts/run-tests

## unit: run the unit tests alone (T=module for one)
unit: tests
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit $(T)

## checkkernels: every kernel against plain C, and what each reaches (LEVEL=c|avx2|avxvnni|avx512|vnni|amx, KIND=product|few|convolution|integer|maps)
checkkernels: tests
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit dense
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit convolve
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit convolve_winograd
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit convolve_chain
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit maps
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit integer
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit bytes
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit words
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit few_bits
	$(Q)BUILD=$(BUILD) scripts/run-tests --unit fixed24
	$(Q)$(BUILD)/lib/tests/test_dense --bench $(LEVEL) $(KIND)

## golden: run the command-line cases alone (T=command for one)
golden: all
	$(Q)BUILD=$(BUILD) scripts/run-tests --golden $(T)

## sanitize: build and test under the address and undefined-behaviour sanitizers
sanitize:
	$(Q)$(MAKE) CONFIG=sanitize test

## fuzz: 100,000 damaged models under the sanitizers (OX_FUZZ_COUNT=N, OX_FUZZ_SEED=N; see lib/tests/test_fuzz.c)
fuzz:
	$(Q)$(MAKE) CONFIG=sanitize build/sanitize/lib/tests/test_fuzz
	$(Q)TESTDATA=testdata OX_FUZZ_COUNT=$${OX_FUZZ_COUNT:-100000} build/sanitize/lib/tests/test_fuzz

## coverage: build and test with line coverage
coverage:
	$(Q)$(MAKE) CONFIG=coverage test

## lint: formatting, static analysis, layering, names
lint: | $(BUILD)/gen/proto/onnx.pb-c.h
	$(Q)BUILD=$(BUILD) CFLAGS_ALL='$(CFLAGS_ALL)' scripts/lint

## format: let clang-format have its way with what is not generated
format:
	$(Q)clang-format -i $(filter-out %.inc,$(wildcard lib/*.h lib/*/*.[ch] lib/*/*/*.[ch] cli/*.[ch]))

## generate: write the generated tables anew (needs the pinned onnx package; PYTHON names the interpreter)
generate:
	$(Q)scripts/generate

## check-generated: prove that the generated tables are current
check-generated:
	$(Q)scripts/generate --check

## install: install program, library, headers, pkg-config file, manual pages, completions and engine adapters under PREFIX
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/libexec/onnxtool \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 scripts/onnxtool-engine-* $(DESTDIR)$(PREFIX)/libexec/onnxtool
	install -m 644 scripts/onnxtool_engine.py $(DESTDIR)$(PREFIX)/libexec/onnxtool
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/onnxtool
	install -m 644 $(LIBRARY) $(DESTDIR)$(PREFIX)/lib/libonnxtool.a
	install -m 644 lib/onnxtool.h lib/onnxtool_op.h $(DESTDIR)$(PREFIX)/include
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	$(PROGRAM) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/onnxtool
	$(PROGRAM) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_onnxtool
	$(PROGRAM) completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/onnxtool.fish
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBS@|$(LDLIBS_ALL)|' scripts/onnxtool.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/onnxtool.pc

## clean: remove build/
clean:
	rm -rf build

## help: this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | sort

.PHONY: FORCE all tests test checkkernels unit golden sanitize fuzz coverage lint format generate check-generated install clean help

-include $(LIB_OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(TEST_SUPPORT:.o=.d) $(TEST_SOURCES:%.c=$(BUILD)/%.d)
