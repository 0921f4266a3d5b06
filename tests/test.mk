# SPDX-License-Identifier: BSD-2-Clause
# make test: everything that runs by itself. Each part writes RESULT lines under build/report/, and
# only those are counted.

.PHONY: test test-builds test-tools test-emu test-long bench

test: ## set up, build, unit tests, emulator tests; the last line counts them
	@tests/tools/run_all $(MAKE) build test-builds test-tools test-host test-emu

test-builds: ## the same image from two folders, and clang builds it too
	@tests/tools/run_part builds tests/tools/test_builds $(MAKE)

test-tools: rig $(BUILD)/sluice.efi ## what make run says to bad options, and how it stops
	@tests/tools/run_part tools tests/tools/test_tools

test-emu: ## only the emulator tests
	@tests/tools/run_part emu tests/tools/run_tests test

test-long: ## many boots, 8 processors, NMI storms (an hour and more)
	@tests/tools/run_part long tests/tools/run_tests long

bench: rig guests $(BUILD)/sluice.efi ## what exits, hypercalls and flushes cost, beside KVM's figures
	@tests/tools/bench
