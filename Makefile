# The only build system here. `make help` lists the verbs, `make doctor` says what this machine has.
#
# Five variables steer it; each can be given on the command line (`make help` prints these lines):
#   CPU=1         run the kernels on the CPU, through simt/nvcc, with a GPU, too
#   ARCH=86       compile for this compute capability ("80 90a" for several,
#                 "all" for every one); default: that of the GPU
#   BUILD=build   where everything that is built goes
#   OPTIMIZE=-O0  what the compilers are told; default: -O3
#   V=1           show the compiler's command lines

BUILD ?= build
.DEFAULT_GOAL := programs

ifeq ($(wildcard simt/nvcc),)
  $(error this is not the folder of the tutorial's Makefile; from elsewhere: make -C FOLDER)
endif

# Neither make's own lists nor the compilers' can hold these letters of a path.
ifneq ($(shell pwd -P | tr '\n' '"' | grep '[]":;[\].'),)
  $(error the path of this folder has one of the letters " : ; [ ] \ or a line's end: move it)
endif

export A B R C ARGS ID OUT DIR JOBS

# Recipes write into the build folder, and `make clean` removes what they wrote: it must be a folder
# of its own, with a name of one word.
refuse_build = $(error BUILD='$(BUILD)' $(1))
ifneq ($(words x$(BUILD)x),1)
  $(call refuse_build,has blanks)
endif
ifneq ($(shell b=$$(realpath -m -- '$(BUILD)'); case "$$(pwd -P)/" in ("$${b%/}"/*) echo bad ;; esac),)
  $(call refuse_build,holds the sources: it must be a folder of its own)
endif
# What has a config is ours, and may hold sources that we wrote.
ifeq ($(wildcard $(BUILD)/config),)
ifneq ($(wildcard $(foreach s,cu cuh hpp md,$(BUILD)/*.$(s) $(BUILD)/*/*.$(s))),)
  $(call refuse_build,has sources in it: it must be a folder of its own)
endif
endif

CHAPTERS := $(sort $(wildcard [0-9][0-9]_*))
# Each chapter has a program in one file and one of all its rungs, ladders.cu; beside those of chapter
# 01 lies the first kernel, a program that needs nothing of this repository. The ladder of a problem
# is an object, of NN/problem/ladder.cu, or of a ladder_*.cu for each type of element.
FIRST := $(BUILD)/01_vector_add/first_kernel
LADDER_SOURCES := $(filter-out %/ladders.cu,$(sort $(wildcard [0-9][0-9]_*/ladder*.cu [0-9][0-9]_*/*/ladder*.cu)))
LADDER_OBJECTS := $(LADDER_SOURCES:%.cu=$(BUILD)/%.o)
PROGRAMS := $(patsubst %.cu,$(BUILD)/%,$(filter-out $(LADDER_SOURCES),$(sort $(wildcard [0-9][0-9]_*/*.cu))))
LADDERS := $(filter %/ladders,$(PROGRAMS))
program_of = $(filter $(BUILD)/$(1)%,$(LADDERS))
programs_of = $(filter $(BUILD)/$(1)%,$(PROGRAMS))

# ---------------------------------------------------------------- compiler: nvcc or simt/nvcc
CUDA_HOME ?= /usr/local/cuda
TOOLKIT_NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard $(CUDA_HOME)/bin/nvcc))
# Asked once: a make that this one calls knows it from the environment.
ifneq ($(origin GPU_ARCH_FOUND),environment)
  GPU_ARCH_FOUND := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null \
                            | head -n 1 | tr -d . | grep -E '^[0-9]+$$')
endif
export GPU_ARCH_FOUND
GPU_ARCH := $(GPU_ARCH_FOUND)

# given: whether a switch such as CPU=1 is on; CPU=0 and CPU=no are off.
given = $(filter-out 0 no off false,$(1))
ifneq ($(call given,$(CPU)),)
  NVCC := simt/nvcc
  WHY_SIMT := CPU=1 was given
else ifndef NVCC
  ifeq ($(TOOLKIT_NVCC),)
    NVCC := simt/nvcc
    WHY_SIMT := nvcc was not found
  else ifeq ($(GPU_ARCH),)
    NVCC := simt/nvcc
    WHY_SIMT := there is no GPU
  else
    NVCC := $(TOOLKIT_NVCC)
  endif
endif
# Verbs that run no kernel need not say where kernels run.
WITHOUT_KERNELS := bench timelines mutate compare standalone doctor lessons slides check format clean distclean editor help book book-serve book-test exercise-%
ifeq ($(NVCC),simt/nvcc)
  SIMT := 1
  # simt's engine is built on first use: into the build folder, for the sources may be read-only.
  ifeq ($(SIMT_BUILD),)
    SIMT_BUILD := $(abspath $(BUILD))/simt
  endif
  export SIMT_BUILD
  RUNS_KERNELS := $(filter-out $(WITHOUT_KERNELS),$(or $(MAKECMDGOALS),programs))
  $(if $(and $(WHY_SIMT),$(RUNS_KERNELS),$(filter 0,$(MAKELEVEL))),$(info kernels run on the CPU, through simt/nvcc: $(WHY_SIMT)))
endif

OPTIMIZE := -O3
FLAGS := -std=c++17 $(OPTIMIZE) -I. -Xcompiler=-Wall,-Wextra,-fopenmp,-march=native
ifndef SIMT
  # Chips this tutorial is compiled for, as far as the toolkit at hand knows them. 90a is Hopper
  # with wgmma, which plain 90 does not have.
  KNOWN_ARCHS := 75 80 86 89 90 100 103 120
  TOOLKIT_ARCHS := $(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-arch 2>/dev/null))
  ARCH ?= $(or $(GPU_ARCH),all)
  ARCHS := $(patsubst 90,90a,$(if $(filter all,$(ARCH)),$(filter $(KNOWN_ARCHS),$(TOOLKIT_ARCHS)),$(ARCH)))
  # Built for several, chips share the intermediate code (PTX) of the first of their kind: no source
  # here asks for more, and making that code takes most of the time.
  ifneq ($(words $(ARCHS)),1)
    PTX_86 := 80
    PTX_89 := 80
    PTX_103 := 100
    PTX_120 := 100
    FLAGS += --threads=2
  endif
  # The kernels of a file are optimized side by side, on all cores (nvcc 12.0 cannot yet): chapter 07
  # has hundreds.
  FLAGS += $(if $(shell $(NVCC) --help 2>/dev/null | grep -e --split-compile),--split-compile=0)
  FLAGS += -lineinfo $(foreach a,$(ARCHS),-gencode=arch=compute_$(or $(PTX_$(a)),$(a)),code=sm_$(a))
endif
# SIMT_CHECK=1 in the environment makes simt/nvcc build its checks and counters in.
FLAGS_SHOWN := $(if $(SIMT),$(if $(SIMT_CHECK),SIMT_CHECK=1 ))$(NVCC) $(FLAGS)
FLAGS += -DBUILD_FLAGS='"$(FLAGS_SHOWN)"'
# For what is compiled, but runs for a moment at most.
UNOPTIMIZED = $(filter-out -O%,$(FLAGS)) -O0

# Libraries of the toolkit that a chapter needs, mostly for its peers. simt has none of them, some
# toolkits not all. Programs find that out by __has_include; this asks the same compiler, since where
# nvcc lies says nothing if that is a script that starts another.
ifndef SIMT
  library_of = $(if $(shell $(NVCC) -E -x c++ -include $(1) /dev/null 2>&1 >/dev/null | grep $(1)),,-l$(2))
  CUBLAS = $(call library_of,cublas_v2.h,cublas)
  LIBS_03_coalescing = $(CUBLAS)
  LIBS_04_matmul = $(CUBLAS) $(call library_of,cublasLt.h,cublasLt) $(call library_of,nccl.h,nccl)
  LIBS_05_reduction = $(call library_of,nccl.h,nccl)
  LIBS_06_atomics_streams = $(call library_of,curand.h,curand)
  LIBS_07_flash_attention = $(CUBLAS)
endif

# ---------------------------------------------------------------- build
# Compilers run side by side on all cores, unless -j says otherwise; what they built runs one after
# the other, or the times would be wrong.
ifneq ($(filter run% test% bench timelines counts% profile-% sanitize%,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
# The last first: late chapters take longest, and would leave the other cores idle at the end.
side_by_side = +@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) \
  built WHAT='$(strip $(call reversed,$(1)))'
reversed = $(if $(1),$(call reversed,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
# One short line a program, on a terminal with the seconds since the start, or with V=1 the
# compiler's own.
QUIET := $(if $(call given,$(V)),,@)
ifndef MAKE_BEGAN
  MAKE_BEGAN := $(shell date +%s)
endif
export MAKE_BEGAN
say = $(if $(QUIET),@if [ -t 1 ]; then printf '%4d s  ' $$(($$(date +%s) - $(MAKE_BEGAN))); fi; \
  echo "$(if $(SIMT),$(1),$(notdir $(1))) $@")
# Until it is whole, a file has another name: make takes what it finds under the right one for
# finished, and two makes at a time do not write into one file.
PART := .part$(shell echo $$PPID)
finish = @mv -f $@$(PART) $@

.PHONY: programs built $(CHAPTERS) help FORCE
programs:  ## build every chapter's program
	$(call side_by_side,$(PROGRAMS))
	$(if $(filter-out programs,$(MAKECMDGOALS)),,@echo "built; next: make run (make help lists all)")
built: $(WHAT)
	@:

# `make 01_vector_add`, `make 01` and `make 1` build one chapter.
numbers_of = $(firstword $(subst _, ,$(1))) $(patsubst 0%,%,$(firstword $(subst _, ,$(1))))
define chapter_verbs
$(1):
	$$(call side_by_side,$$(call programs_of,$(1)))
.PHONY: $(call numbers_of,$(1))
$(call numbers_of,$(1)): $(1)
endef
$(foreach chapter,$(CHAPTERS),$(eval $(call chapter_verbs,$(chapter))))

# Everything depends on the compiler and its flags: this file changes when they do. simt's own
# sources are a part of the compiler.
CONFIG := $(BUILD)/config
$(CONFIG): FORCE $(if $(SIMT),simt/nvcc $(wildcard simt/frontend/*.py simt/src/*))
	@mkdir -p $(@D)
	@if [ -n "$(filter-out FORCE,$?)" ] || ! echo '$(FLAGS_SHOWN)' | cmp -s - $@; then \
	  echo '$(FLAGS_SHOWN)' > $@; fi

$(BUILD)/%: %.cu $(CONFIG)
	@mkdir -p $(@D)
	$(call say,$(NVCC))
	$(QUIET)$(NVCC) $(FLAGS) $(DEPENDENCIES) $< -o $@$(PART)
	@mv -f $@$(PART).d $@.d
	$(finish)
DEPENDENCIES = -MD -MP -MF $@$(PART).d -MT $@

# Ladders are compiled side by side, an edited rung compiles one, and each program of ladders is
# linked from those of its chapter. Without a GPU, what all include is compiled once for all.
OBJECTS := $(LADDER_OBJECTS) $(LADDERS:%=%.o)
ONE_LADDER := $(LADDER_OBJECTS:%.o=%.main.o)
compile = $(if $(SIMT),SIMT_PRECOMPILE=1) $(NVCC) $(FLAGS) $(DEPENDENCIES)
$(OBJECTS): $(BUILD)/%.o: %.cu $(CONFIG)
	@mkdir -p $(@D)
	$(call say,$(NVCC))
	$(QUIET)$(compile) -c $< -o $@$(PART)
	@mv -f $@$(PART).d $@.d
	$(finish)
# One ladder as a program, for `make try`; decode/ladder_bf16.cu defines ladders::decode_bf16().
ladder_named = $(shell echo /$(1) | sed -E 's,.*/(.*)/ladder,\1,; s,^[0-9]+_,,')
$(ONE_LADDER): $(BUILD)/%.main.o: tools/one_ladder.cu $(CONFIG)
	@mkdir -p $(@D)
	$(QUIET)$(compile) -DLADDER=$(call ladder_named,$*) -c $< -o $@$(PART)
	@mv -f $@$(PART).d $@.d
	$(finish)
define link
	$(QUIET)$(NVCC) $(FLAGS) $(filter %.o,$^) -o $@$(PART) $(LIBS_$(firstword $(subst /, ,$*)))
	$(finish)
endef
$(LADDER_OBJECTS:%.o=%): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/%.main.o
	$(link)
.SECONDEXPANSION:
$(LADDERS): $(BUILD)/%: $(BUILD)/%.o $$(filter $$(@D)/$$(PERCENT),$(LADDER_OBJECTS))
	$(link)
PERCENT := %

# ---------------------------------------------------------------- run
# `make run` and `make run-01`: exit status 0 only if every variant that ran was right; the last line
# counts what was right, skipped and wrong.
.PHONY: run $(CHAPTERS:%=run-%)
# Without a GPU, tables show what was counted of each rung before, unless it has changed since; and
# what is for several GPUs has two.
KEPT_COUNTS := $(BUILD)/kept_counts
with_counts = $(if $(SIMT),export SIMT_DEVICES=$${SIMT_DEVICES:-2}; \
  tools/counts.py >$(KEPT_COUNTS) && export KEPT_COUNTS=$(KEPT_COUNTS);)
# A chapter's program in one file comes before all its rungs.
in_order = $(foreach c,$(1),$(filter-out $(LADDERS),$(call programs_of,$(c))) $(call program_of,$(c)))
run: programs  ## build and run every chapter, for a short look (run-01: one chapter, with care)
	@$(with_counts) tools/run_programs.py --quick $(call in_order,$(CHAPTERS))
$(CHAPTERS:%=run-%): run-%: %
	@$(with_counts) tools/run_programs.py $(filter-out $(FIRST),$(call in_order,$*))
run-%: ; @$(MAKE) --no-print-directory run-$(call chapter_named,$*)

# The processes find each other by the variables that torchrun sets; mpirun and torchrun start them
# on several machines.
PROCESSES := $(BUILD)/05_reduction/all_reduce/processes $(BUILD)/07_flash_attention/ring/processes
NP := 2
$(PROCESSES): private FLAGS += $(LIBS_05_reduction)
.PHONY: processes run-multi
processes: $(PROCESSES)
run-multi: $(PROCESSES)  ## all-reduce and ring attention over NCCL in NP=2 processes, one for each GPU
	@status=0; for program in $^; do pids=; for rank in $$(seq 0 $$(($(NP) - 1))); do \
	  RANK=$$rank LOCAL_RANK=$$rank WORLD_SIZE=$(NP) MASTER_ADDR=127.0.0.1 $$program & pids="$$pids $$!"; done; \
	for pid in $$pids; do wait $$pid || status=1; done; done; exit $$status

# The chapter whose number was given: 01 or 1 -> 01_vector_add.
chapter_named = $(or $(filter $(1)_% 0$(1)_%,$(CHAPTERS)),$(error there is no chapter $(1): \
  $(firstword $(CHAPTERS)) to $(lastword $(CHAPTERS))))

# `make exercise-check ID=01/guard` is `./exercise check 01/guard`; OUT and DIR are for instructors.
exercise-%:  ## exercise-start ID=01/guard, exercise-check ID=...: as ./exercise (--help lists all)
	@./exercise $* $${ID:+"$$ID"} $${OUT:+--out "$$OUT"} $${DIR:+--submissions "$$DIR"}

.PHONY: first
first: $(FIRST)  ## build and run the first kernel of all
	@$(FIRST)

# ---------------------------------------------------------------- test
# One Catch2 program per file in tests/. On the CPU they are built with simt's checks, which name
# races, stray accesses and the like; simt's own tests (simt/tests) run there only.
TEST_SOURCES := $(wildcard tests/common/*.cu tests/[0-9][0-9]_*.cu) tests/programs.cu
TEST_SOURCES += $(if $(SIMT),$(wildcard simt/tests/*.cu simt/tests/*.cpp))
TESTS := $(addprefix $(BUILD)/,$(basename $(sort $(TEST_SOURCES))))
TEST_ENV := $(if $(SIMT),SIMT_CHECK=1 SIMT_PRECOMPILE=tests/catch.hpp)
# Catch2 3 is a library, version 2 a header.
CATCH_LIB := $(if $(wildcard /usr/include/catch2/catch_test_macros.hpp \
                             /usr/local/include/catch2/catch_test_macros.hpp),-lCatch2)

$(BUILD)/tests/main.o: tests/main.cpp tests/catch.hpp
	@mkdir -p $(@D)
	$(call say,$(CXX))
	$(QUIET)$(CXX) -std=c++17 -O1 -Wall -Wextra -I. -c $< -o $@$(PART)
	$(finish)

define build_test
	@mkdir -p $(@D)
	$(call say,$(NVCC))
	$(QUIET)$(TEST_ENV) $(NVCC) $(FLAGS) $(OF_TESTS) -DTEST_BUILD='"$(BUILD)"' $(DEPENDENCIES) $< $(filter %.o,$^) \
	  -o $@$(PART) $(CATCH_LIB) $(or $(LIBS_$*),$(foreach c,$(CHAPTERS),$(if $(filter $(c)%,$*),$(LIBS_$(c)))))
	@mv -f $@$(PART).d $@.d
	$(finish)
endef
$(BUILD)/tests/%: tests/%.cu $(BUILD)/tests/main.o $(CONFIG)
	$(build_test)
$(BUILD)/simt/tests/%: simt/tests/%.cu $(BUILD)/tests/main.o $(CONFIG)
	$(build_test)
$(BUILD)/simt/tests/%: simt/tests/%.cpp $(BUILD)/tests/main.o $(CONFIG)
	$(build_test)

# With simt's checks, tests run as fast like this, and are compiled in four fifths of the time.
ifdef SIMT
  $(BUILD)/tests/%: private FLAGS := $(UNOPTIMIZED)
endif
# Those of a chapter run the rungs of its ladders themselves; programs, and tests of common, run ladders.
$(BUILD)/tests/0%: private OF_TESTS := -DLADDERS_HAVE_NAMES_ONLY
# These start a chapter's program, and take the names in its ladders from the same objects.
$(foreach c,$(CHAPTERS),$(eval $(BUILD)/tests/$(c)_program: $(filter $(BUILD)/$(c)/%,$(LADDER_OBJECTS))))
# Of all that a ladder holds, this wants the names: it compiles several chapters at once.
$(BUILD)/tests/programs $(BUILD)/tests/%_program: private TEST_ENV :=
$(BUILD)/tests/%_program: private FLAGS := $(UNOPTIMIZED)
$(BUILD)/tests/%_program: private OF_TESTS :=
# The rungs in it have their tests elsewhere; it runs a few blocks of them.
$(BUILD)/tests/07_flash_attention_turns: private TEST_ENV :=
$(BUILD)/tests/07_flash_attention_turns: private FLAGS := $(UNOPTIMIZED)
# It runs no kernel.
$(BUILD)/tests/07_flash_attention_memory: private TEST_ENV :=
# They ask for bits, of 3.7 million sums and 2.6 million results.
$(BUILD)/simt/tests/tensor_sums: private TEST_ENV :=
$(BUILD)/simt/tests/instructions: private TEST_ENV :=
$(BUILD)/simt/tests/instructions: private FLAGS := $(UNOPTIMIZED)

.PHONY: test tests test-programs $(CHAPTERS:%=test-%)
test-programs:
	$(call side_by_side,$(TESTS))
tests:
	$(call side_by_side,$(TESTS) $(PROGRAMS))
test: tests  ## build and run every test (test-01: those of one chapter; JOBS=2: two at a time, without a GPU; LEFT_OUT=...: without these)
	@tools/run_tests.sh $(filter-out $(LEFT_OUT),$(TESTS) $(TOOL_TESTS))
# Two at a time, a long one that began last would leave the other core idle.
LONG_TESTS := tests/tools/test_standalone.py tests/tools/test_sanitize.py
TOOL_TESTS = $(wildcard $(LONG_TESTS)) $(filter-out $(LONG_TESTS),$(wildcard tests/tools/test_*.py))
tests_of = $(filter $(BUILD)/tests/$(1)%,$(TESTS))
$(CHAPTERS:%=test-%): test-%:
	$(call side_by_side,$(call programs_of,$*) $(call tests_of,$*))
	@tools/run_tests.sh $(call tests_of,$*)
test-%: ; @$(MAKE) --no-print-directory test-$(call chapter_named,$*)

# ---------------------------------------------------------------- measure and inspect
# Arguments at which a chapter is small enough for a profiler, from its bench.args.
small_args = $(shell sed -n 's/^counters: *//p' $(1)/bench.args 2>/dev/null)
# Without a GPU, counters and checks come from simt, built into a folder of their own.
CHECKED := $(if $(SIMT),$(BUILD)/checked,$(BUILD))
checked_program_of = $(patsubst $(BUILD)/%,$(CHECKED)/%,$(call program_of,$(1)))
build_checked = $(if $(SIMT),@SIMT_CHECK=1 $(MAKE) --no-print-directory BUILD=$(CHECKED) NVCC=$(NVCC) $(1))

.PHONY: bench timelines counts sanitize compare try standalone doctor lessons slides check format clean distclean editor mutate
bench: $(if $(SIMT),,programs)  ## measure on this GPU, write results/<gpu>.json, fill the tables that quote that file
	$(if $(SIMT),@echo "bench: nothing to measure here: $(or $(WHY_SIMT),NVCC is simt/nvcc) (\`make doctor\` says more)" >&2; exit 1)
	@tools/bench.py --build $(BUILD) $(if $(ALLOW_DIRTY),--allow-dirty)
	@tools/lessons.py

TIMELINE_PROGRAMS := $(BUILD)/06_atomics_streams/ladders $(BUILD)/07_flash_attention/study/turns
timelines:  ## record on this GPU what runs when, write results/<gpu>_timelines.json, draw the figures
	$(if $(SIMT),@echo "timelines: nothing to measure here: $(or $(WHY_SIMT),NVCC is simt/nvcc) (\`make doctor\` says more)" >&2; exit 1)
	$(call side_by_side,$(TIMELINE_PROGRAMS))
	@tools/timelines.py --build $(BUILD) $(if $(ALLOW_DIRTY),--allow-dirty)
	@tools/lessons.py

profile-%:  ## profile-01: counters of every kernel (Nsight Compute), without a GPU of every rung and line, too
	$(call build_checked,$(call chapter_named,$*))
	@$(if $(SIMT),,$(MAKE) --no-print-directory $(call chapter_named,$*))
	@tools/profile.py --backend $(if $(SIMT),simt,ncu) \
	  $(call checked_program_of,$(call chapter_named,$*)) \
	  $(call small_args,$(call chapter_named,$*))

# Programs that count are simt's, beside a GPU, too: CPU=1.
needs_simt = $(if $(SIMT),,@echo "$@: simt counts, so this needs CPU=1" >&2; exit 1)
counts:  ## count each rung by simt, and keep what `make run` shows without a GPU (counts-01: one chapter)
	$(needs_simt)
	$(call build_checked,programs)
	@tools/counts.py --record --build $(CHECKED)
$(CHAPTERS:%=counts-%): counts-%:
	$(needs_simt)
	$(call build_checked,$*)
	@tools/counts.py --record --build $(CHECKED) $*
counts-%: ; @$(MAKE) --no-print-directory counts-$(call chapter_named,$*)

sanitize: $(if $(SIMT),,programs)  ## compute-sanitizer's four tools, or simt's checks without a GPU (JOBS=4: four runs at a time)
	$(call build_checked,programs)
	$(call sanitizer,)
$(CHAPTERS:%=sanitize-%): sanitize-%: $(if $(SIMT),,%)
	$(call build_checked,$*)
	$(call sanitizer,$*)
# Its report fills the table of a page, whatever it found.
sanitizer = @tools/sanitize.py --build $(CHECKED) $(if $(SIMT),--simt) $${JOBS:+--jobs "$$JOBS"} \
  $(if $(call given,$(ALLOW_DIRTY)),--allow-dirty) $(1); status=$$?; tools/lessons.py results/README.md; exit $$status
sanitize-%: ; @$(MAKE) --no-print-directory sanitize-$(call chapter_named,$*)

compare:  ## make compare A=01/vectorized B=01/coarsened: two rungs side by side (WHOLE=1: whole files)
	@tools/compare.py $(if $(call given,$(WHOLE)),--whole) -- $${A:+"$$A"} $${B:+"$$B"}

# One file for each rung, or for a ladder's main road, that needs nothing of this repository.
standalone: $(CONFIG)  ## make standalone R=04/tiled: one .cu with this rung and all it needs (C=04/sgemm: the main road)
	@tools/standalone.py --out $(BUILD)/standalone --rung "$$R" --road "$$C"

# One rung alone: its ladder as a program, which is not worth optimizing. Without a GPU it has simt's
# checks.
try:  ## make try R=01/grid_stride: build and check one rung (ARGS="--n 33": at a size of yours)
	@$(if $(SIMT),SIMT_CHECK=1) tools/try_rung.py --build $(BUILD)/try --rung="$$R" --arguments="$$ARGS" \
	  -- $(MAKE) --no-print-directory -j$(shell nproc) BUILD=$(BUILD)/try NVCC=$(NVCC) OPTIMIZE=-O0

# The book reads lessons, sources and results; nothing here depends on it.
BOOK := $(BUILD)/book
# Where apt's Node.js is too old, setup.sh has put one beside the packages.
NODE := $(firstword $(wildcard book/node_modules/.bin/node) node)
BOOK_PACKAGES := book/node_modules/.package-lock.json
.PHONY: book book-serve book-test
$(BOOK_PACKAGES): book/package-lock.json
	$(error the book's packages are missing or old: ./setup.sh --book installs them)
# The kernels that run in the page. Where their compiler is missing, it says so and goes on without.
KERNELS_OF_PAGE := $(BUILD)/page/kernels.wasm
$(KERNELS_OF_PAGE): $(wildcard book/kernels/build.py book/kernels/uncounted.txt book/kernels/*.cpp book/kernels/host/* book/kernels/host/sys/* simt/frontend/*.py simt/src/*.cpp simt/src/*.h)
	@NODE=$(NODE) book/kernels/build.py $@ || [ $$? = 3 ]
# The same kernels on simt itself, which must count the same: built as every program is, and by the
# page's own compiler, for active lanes depend on how a compiler cuts code into basic blocks.
COUNT_OF_PAGE := $(BUILD)/page/count $(BUILD)/page/count_clang
$(COUNT_OF_PAGE): $(KERNELS_OF_PAGE) book/kernels/count.cu
$(BUILD)/page/count:
	@[ ! -e $< ] || SIMT_PROFILE=1 simt/nvcc -std=c++17 -O2 -I. book/kernels/count.cu -o $@
$(BUILD)/page/count_clang:
	@[ ! -e $< ] || { book/kernels/build.py --simt $@.o && SIMT_PROFILE=1 simt/nvcc $@.o -o $@; }
-include $(wildcard $(KERNELS_OF_PAGE:.wasm=.d))
# WITH_COMPILER=1: readers may write kernels in the page (130 MB more, book/README.md).
COMPILER_OF_PAGE := $(BUILD)/page/compiler
book/compiler/node_modules/.package-lock.json: book/compiler/package-lock.json
	@npm ci --no-audit --no-fund --prefix book/compiler
book: $(if $(WITH_COMPILER),book/compiler/node_modules/.package-lock.json)
book: $(BOOK_PACKAGES) $(KERNELS_OF_PAGE)  ## build the book, a web site of all this, into $(BUILD)/book
	@$(if $(WITH_COMPILER),$(NODE) book/compiler/build.mjs $(COMPILER_OF_PAGE) $(BUILD)/page/compiler.made)
	@$(NODE) book/build.mjs $(BOOK) $(KERNELS_OF_PAGE) $(if $(WITH_COMPILER),$(COMPILER_OF_PAGE))
book-serve: book  ## build the book and show it on http://127.0.0.1:8000/ (PORT=8001: another port)
	@$(NODE) book/serve.mjs $(BOOK) $(or $(PORT),8000)
book-test: book $(COUNT_OF_PAGE)  ## build the book and test it, in headless Chromium too
	@KERNELS=$(abspath $(BUILD)/page) $(NODE) --test book/tests/*.test.mjs
	@BOOK_OUT=$(abspath $(BOOK)) $(NODE) --test book/tests/browser.mjs
	@$(if $(WITH_COMPILER),BOOK_OUT=$(abspath $(BOOK)) $(NODE) --test book/tests/write.mjs)

doctor:  ## what this machine has, and what you can do with it now
	@tools/doctor.sh
	@[ -x $(BUILD)/tools/device_query ] || \
	  { echo; echo "Building tools/device_query.cu, which asks the device what it can do ..."; }
	@echo; if $(MAKE) --no-print-directory $(BUILD)/tools/device_query >/dev/null 2>&1; then \
	  $(BUILD)/tools/device_query; else \
	  echo "tools/device_query.cu does not build; \`make $(BUILD)/tools/device_query\` shows why"; exit 1; fi

editor:  ## let editors that speak to clangd understand the sources: write .clangd, compile_commands.json
	@tools/editor.py

lessons:  ## fill the code, the tables and the numbers that the lessons take from elsewhere
	@tools/lessons.py

slides:  ## slides and handouts of the lessons, to show or to print: HTML files in $(BUILD)/slides
	@tools/slides.py --out $(BUILD)/slides

mutate:  ## plant small mistakes one at a time; a test must notice each (hours; JOBS=4: four at a time)
	@tools/mutate.py $${JOBS:+--jobs "$$JOBS"}

check:  ## format, stale lessons, dead links, include arrows, size of every rung
	@tools/check.py

CLANG_FORMAT := $(firstword $(shell command -v clang-format-14 clang-format 2>/dev/null))
format:  ## format every source file
	$(if $(CLANG_FORMAT),,@echo "format: clang-format is not installed (./setup.sh --dev installs it)" >&2; exit 1)
	@find [!.]* -type d \( -path '$(BUILD)' -o -name build -o -name work -o -name node_modules \) -prune -o -type f \
	  \( -name '*.cu' -o -name '*.cuh' -o -name '*.hpp' -o -name '*.h' -o -name '*.cpp' \) -print0 \
	  | xargs -0 $(CLANG_FORMAT) -i

# What lies in PREFIX/lib/simt is replaced if it is simt, and nothing else is.
PREFIX ?= /usr/local
.PHONY: install-simt
install-simt:  ## simt alone: PREFIX/bin/simt-nvcc works without this repository (PREFIX=~/.local)
	@to="$(PREFIX)/lib/simt"; \
	[ ! -e "$$to" ] || [ -x "$$to/nvcc" ] || \
	  { echo "install-simt: $$to is there, and is not simt: it stays" >&2; exit 2; }; \
	mkdir -p "$(PREFIX)/bin" "$(PREFIX)/lib" && rm -rf "$$to" && mkdir "$$to" && \
	cp -R $(addprefix simt/,nvcc frontend include src suites README.md checks-and-counters.md how-it-works.svg) \
	  LICENSE "$$to" && rm -rf "$$to/frontend/__pycache__" "$$to/suites/__pycache__" && \
	ln -sf ../lib/simt/nvcc "$(PREFIX)/bin/simt-nvcc" && echo "$(PREFIX)/bin/simt-nvcc"

# What somebody else put into the folder stays.
MADE := config kept_counts slides tests simt tools checked try standalone nvcc all-archs exercise book page
clean:  ## remove everything that was built
	@[ ! -e $(BUILD) ] || [ -f $(CONFIG) ] || [ -d $(BUILD)/simt ] || \
	  { echo "clean: nothing was built in $(BUILD), so nothing is removed there" >&2; exit 1; }
	@rm -rf $(MADE:%=$(BUILD)/%) $(BUILD)/[0-9][0-9]_*
	@[ ! -e $(BUILD) ] || rmdir $(BUILD) 2>/dev/null || \
	  echo "clean: $(BUILD) keeps what was not built there:" $$(ls -A $(BUILD))

distclean: clean  ## remove the book's packages and the editor's files, too; what is in work/ is yours and stays
	@rm -rf book/node_modules book/compiler/node_modules .clangd compile_commands.json .cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "removed what was built and installed here; to remove all, delete this folder"

help:  ## print this list
	@awk -F ':.*## ' -v build='$(BUILD)' '/^[a-z%-]+:.*## / { gsub(/\$$\(BUILD\)/, build, $$2); \
	  line = sprintf("%-13s", $$1); count = split($$2, words, " "); \
	  for (i = 1; i <= count; ++i) { \
	    if (length(line words[i]) > 78) { print line; line = sprintf("%-13s", "") } \
	    line = line " " words[i] } \
	  print line }' Makefile
	@echo; echo "Variables, as in: make run CPU=1"; sed -n '/^# Five/,/^$$/ s/^#   /  /p' Makefile

# Without this, make says that it has "no rule to make target" what somebody mistyped. With -B it
# asks here for every source too.
VERBS = $(shell sed -nE 's/^([a-z-]+):.*## .*/\1/p' Makefile) $(foreach v,run test profile sanitize counts,$(v)-01) \
  exercise-start exercise-check exercise-next exercise-list $(CHAPTERS)
.DEFAULT:
	$(if $(wildcard $@),@:,$(error there is nothing called '$@' here$(call nearest,$(subst ','\'',$@)) (`make help` lists the commands)))
nearest = $(shell python3 -B tools/cli.py '$(1)' $(VERBS) 2>/dev/null)

-include $(wildcard $(PROGRAMS:%=%.d) $(OBJECTS:%=%.d) $(ONE_LADDER:%=%.d) $(TIMELINE_PROGRAMS:%=%.d) $(TESTS:%=%.d))
