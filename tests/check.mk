# SPDX-License-Identifier: BSD-2-Clause
# make check: each check is a target check-NAME of its own; tests/tools/check_run runs them all, one
# line each. What costs seconds per file (analysis) leaves a stamp under build/check/ and runs again
# only when the file, one of its headers or the rules changed.

CHECKS := format layers asm headers size words cppcheck analyze tidy commits selftest

CHECK_FOLDERS := $(wildcard core mm hyperv vmx boot)
CHECK_SOURCES := $(sort $(foreach d,$(CHECK_FOLDERS),$(wildcard $d/*.c)))
CHECK_FORMATTED := $(sort $(shell find $(CHECK_FOLDERS) $(wildcard tests) \
	\( -name '*.c' -o -name '*.h' \) -print))
CHECK_PURE := $(sort $(wildcard $(shell sed 's/\#.*//' tests/tools/pure_files.txt)))

# The image's own flags (GCC's analyzer is GCC's, so the compiler is not CC).
CHECK_CC := $(CROSS_COMPILE)gcc
CHECK_CFLAGS := $(IMAGE_CFLAGS) $(EFI_CFLAGS)

.PHONY: check format format-check check-list $(CHECKS:%=check-%) check-analyze-files \
	check-tidy-files

check: ## format, static analysis, layers, headers, sizes, words, commit messages
	@if [ -x tests/tools/setup ]; then tests/tools/setup build check; fi
	@tests/tools/check_run build/report/check.txt $(MAKE) $(CHECKS)

format: ## lay out all C files by .clang-format
	@clang-format -i --style=file $(CHECK_FORMATTED)

format-check: check-format ## show what make format would change

check-format:
	@tests/tools/check_format $(CHECK_FORMATTED)

check-layers check-asm check-size check-words: check-%:
	@tests/tools/check_$*

check-headers:
	@tests/tools/check_headers $(CHECK_CC) $(CHECK_CFLAGS)

check-cppcheck:
	@mkdir -p build/check/cppcheck
	@cppcheck --quiet -j2 --std=c11 --platform=unix64 --error-exitcode=1 \
		--enable=warning,performance,portability --inline-suppr \
		--suppressions-list=tests/tools/cppcheck_suppressions.txt \
		--cppcheck-build-dir=build/check/cppcheck -I. $(CHECK_FOLDERS)

check-analyze:
	@$(MAKE) --no-print-directory -k -j2 -O check-analyze-files

check-analyze-files: $(CHECK_PURE:%.c=build/check/analyze/%.o)

build/check/analyze/%.o: %.c tests/check.mk
	@mkdir -p $(@D)
	@$(CHECK_CC) $(CHECK_CFLAGS) -fanalyzer -MMD -MP -c $< -o $@

check-tidy:
	@$(MAKE) --no-print-directory -k -j2 -O check-tidy-files

check-tidy-files: $(CHECK_SOURCES:%.c=build/check/tidy/%.stamp)

# clang's own warnings are part of it (clang-diagnostic-*), with the same set as GCC.
build/check/tidy/%.stamp: %.c .clang-tidy tests/check.mk
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- $(CHECK_CFLAGS) 2>$(@:.stamp=.err) || \
		{ cat $(@:.stamp=.err); exit 1; }
	@$(CHECK_CC) $(CHECK_CFLAGS) -MM -MP -MT $@ -MF $(@:.stamp=.d) $<
	@touch $@

check-commits:
	@tests/tools/check_commits

# The sample tree has no Makefile but ours; the environment hands it the flags.
check-selftest:
	@WARNINGS='$(WARNINGS)' IMAGE_CFLAGS='$(IMAGE_CFLAGS)' EFI_CFLAGS='$(EFI_CFLAGS)' \
		CROSS_COMPILE='$(CROSS_COMPILE)' tests/tools/check_selftest

-include $(wildcard build/check/analyze/*/*.d build/check/tidy/*/*.d)
