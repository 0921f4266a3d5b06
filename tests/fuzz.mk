# SPDX-License-Identifier: BSD-2-Clause
# Fuzzing with libFuzzer and the sanitizers: make fuzz T=60 runs each target for T seconds. What it
# finds stays under build/fuzz/ as crash-*.

T ?= 60
FUZZ_TARGETS := hypercall
FUZZ_UNITS_hypercall := $(wildcard hyperv/*.c)
FUZZ_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fno-strict-aliasing -DSLUICE_HOST=1 -I. \
	$(filter-out -Wnull-dereference,$(WARNINGS)) \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

.PHONY: fuzz $(FUZZ_TARGETS:%=fuzz-%)

fuzz: $(FUZZ_TARGETS:%=fuzz-%) ## fuzz what decodes guest input, T seconds each

$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: build/fuzz/fuzz_%
	@tests/fuzz/seed_$* build/fuzz/seeds_$*
	@mkdir -p build/fuzz/corpus_$* build/report
	@if $< -max_total_time=$(T) -max_len=4120 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix=build/fuzz/ build/fuzz/corpus_$* build/fuzz/seeds_$* \
		>build/report/fuzz_$*.txt 2>&1; then \
		echo "RESULT fuzz/$* PASS $$(sed -n 's/^stat::number_of_executed_units: *//p' \
			build/report/fuzz_$*.txt) inputs in $(T) s"; \
	else \
		tail -n 40 build/report/fuzz_$*.txt; \
		echo "RESULT fuzz/$* FAIL see build/report/fuzz_$*.txt"; \
		exit 1; \
	fi

build/fuzz/fuzz_hypercall: $(FUZZ_UNITS_hypercall)

build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(wildcard core/*.h hyperv/*.h hyperv/*.def)
	@mkdir -p $(@D)
	@clang $(FUZZ_CFLAGS) $(filter %.c,$^) -o $@
