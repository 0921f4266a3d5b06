# SPDX-License-Identifier: BSD-2-Clause
#
# The test rig: launcher, userland, and the runs of a Linux kernel with and without Sluice.
# Needs from the Makefile that includes it: BUILD, CROSS_COMPILE, and the target
# $(BUILD)/sluice.efi. No file here is part of the product.

RIG_BUILD := $(BUILD)/rig
RIG_CC ?= $(CROSS_COMPILE)gcc
RIG_LD ?= $(CROSS_COMPILE)ld
RIG_OBJCOPY ?= $(CROSS_COMPILE)objcopy
RIG_EFI_LIB ?= /usr/lib

RIG_WARNINGS := -Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wundef -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wcast-align -Wpointer-arith \
	-Wwrite-strings -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference
RIG_EFI_CFLAGS := -std=gnu11 -O2 $(RIG_WARNINGS) -ffreestanding -fno-strict-aliasing \
	-fno-stack-protector -fshort-wchar -fpic -mno-red-zone -mgeneral-regs-only \
	-DGNU_EFI_USE_MS_ABI -isystem /usr/include/efi -isystem /usr/include/efi/x86_64 \
	-I. -I$(RIG_BUILD)/launcher
RIG_EFI_LDFLAGS := -nostdlib -znocombreloc -shared -Bsymbolic --no-undefined \
	-T $(RIG_EFI_LIB)/elf_x86_64_efi.lds -L$(RIG_EFI_LIB)
RIG_EFI_SECTIONS := -j .text -j .sdata -j .data -j .dynamic -j .dynsym -j '.rel*' -j '.rela*' \
	-j .reloc

RIG_LAUNCHER_SOURCES := $(wildcard tests/launcher/*.c)
RIG_LAUNCHER_OBJECTS := $(RIG_LAUNCHER_SOURCES:tests/launcher/%.c=$(RIG_BUILD)/launcher/%.o)

-include $(RIG_LAUNCHER_OBJECTS:.o=.d)

$(RIG_BUILD)/launcher $(RIG_BUILD)/userland:
	@mkdir -p $@

$(RIG_BUILD)/launcher/dsdt.hex: tests/launcher/dsdt.asl | $(RIG_BUILD)/launcher
	$(call say,IASL,$<)
	$(Q)iasl -vs -we -tc -p $(RIG_BUILD)/launcher/dsdt $< >$(RIG_BUILD)/launcher/iasl.log

$(RIG_BUILD)/launcher/%.o: tests/launcher/%.c tests/rig.mk $(RIG_BUILD)/launcher/dsdt.hex
	$(call say,CC,$<)
	$(Q)$(RIG_CC) $(RIG_EFI_CFLAGS) -MMD -MP -c -o $@ $<

$(RIG_BUILD)/launcher.efi: $(RIG_LAUNCHER_OBJECTS)
	$(call say,LD,$@)
	$(Q)$(RIG_LD) $(RIG_EFI_LDFLAGS) -o $(RIG_BUILD)/launcher/launcher.so \
		$(RIG_EFI_LIB)/crt0-efi-x86_64.o $^ -lgnuefi
	$(Q)$(RIG_OBJCOPY) $(RIG_EFI_SECTIONS) --target=efi-app-x86_64 \
		$(RIG_BUILD)/launcher/launcher.so $@

# The userland: busybox from the host and programs of ours, all static.
RIG_USER_PROGRAMS := init pincheck hvinfo toport stress
RIG_USER_BINARIES := $(RIG_USER_PROGRAMS:%=$(RIG_BUILD)/userland/%)
RIG_USER_CFLAGS := -std=gnu11 -O2 $(RIG_WARNINGS) -static -s -pthread -I. -DSLUICE_HOST
RIG_BUSYBOX ?= /usr/bin/busybox

$(RIG_BUILD)/userland/%: tests/userland/%.c tests/rig.mk | $(RIG_BUILD)/userland
	$(call say,CC,$@)
	$(Q)$(RIG_CC) $(RIG_USER_CFLAGS) -o $@ $(filter %.c,$^)

# The numbers of Sluice's counters come from its headers.
$(RIG_BUILD)/userland/stress: $(wildcard tests/userland/stress_*) vmx/own_counters.h \
	$(wildcard core/*.h core/*.def hyperv/*.h hyperv/*.def)

$(RIG_BUILD)/initrd.img: $(RIG_USER_BINARIES) tests/userland/rc tests/tools/mkinitrd
	$(call say,INITRD,$@)
	$(Q)tests/tools/mkinitrd $@ bin/busybox=$(RIG_BUSYBOX) etc/rc=tests/userland/rc \
		init=$(RIG_BUILD)/userland/init \
		$(foreach program,$(filter-out init,$(RIG_USER_PROGRAMS)),bin/$(program)=$(RIG_BUILD)/userland/$(program))

# Options of the runs.
HOST ?= bochs
CPUS ?= 4
CPU ?=
MEM ?= 512
KERNEL ?=
TIMEOUT ?= 0
# The Microsoft interface with flush calls.
HV ?= on
# More lines for sluice.cfg, with ; between them.
CONFIG ?=
# Rounds of the stress; each makes about 1.7 remote flushes.
STRESS ?= 6500

RIG_RUN_FLAGS = --build $(RIG_BUILD) --report $(BUILD)/report/run.tsv --host '$(HOST)' \
	--cpus '$(CPUS)' --model '$(CPU)' --mem '$(MEM)' --kernel '$(KERNEL)' --timeout '$(TIMEOUT)' \
	--stress '$(STRESS)' --sluice-config '$(CONFIG)'

.PHONY: setup rig run run-bare run-options

# Before anything is built. Without Python, on a machine that is not set up, it is left to the run.
run-options:
	@rm -f $(BUILD)/report/run.tsv
	@! command -v python3 >/dev/null || tests/tools/run_linux --check-only --hv '$(HV)' $(RIG_RUN_FLAGS)

setup: ## install and fetch all tools (needs root once; under a second when they are there)
	tests/tools/setup

# The programs of the rig need the tools first, when the set-up is part of the same make.
$(RIG_LAUNCHER_OBJECTS) $(RIG_BUILD)/launcher/dsdt.hex $(RIG_USER_BINARIES): | rig-setup
.PHONY: rig-setup
rig-setup:
	@tests/tools/setup build emu

rig: $(RIG_BUILD)/launcher.efi $(RIG_BUILD)/initrd.img ## build the launcher and the userland

# By a second make: on a fresh machine the compiler is there only after the set-up.
run: run-options rig ## boot a Debian kernel under Sluice, with the flush calls and a stress
	@$(MAKE) --no-print-directory $(BUILD)/sluice.efi
	@tests/tools/run_linux --sluice $(BUILD)/sluice.efi --hv '$(HV)' --compare-off $(RIG_RUN_FLAGS)

run-bare: run-options rig ## the same boot without Sluice
	@tests/tools/run_linux $(RIG_RUN_FLAGS)

# A whole disk for a USB stick: one EFI system partition with Sluice as the program that boots.
define RIG_SAMPLE_CONFIG
# Sluice's configuration: one key=value a line. docs/configuration.md lists the keys.
# Without boot=, Sluice looks for the loader of an operating system on the machine's other disks.
mode=passthrough
console=com2
# The Microsoft interface; off leaves it out.
hv=on
# Recommend TLB flushes by hypercall also on machines with up to 64 processors.
#hv-tlbflush=on
endef
export RIG_SAMPLE_CONFIG

$(BUILD)/sluice.img: $(BUILD)/sluice.efi tests/tools/mkimage.py tests/rig.mk
	@tests/tools/setup image
	$(call say,IMAGE,$@)
	$(Q)tests/tools/mkimage --gpt --text sluice.cfg="$$RIG_SAMPLE_CONFIG" $@ EFI/BOOT/BOOTX64.EFI=$<
