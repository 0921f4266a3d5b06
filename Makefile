# SPDX-License-Identifier: BSD-2-Clause
# Sluice: `make help` lists the targets. Tests and the emulator rig add theirs from tests/*.mk.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

BUILD ?= build
CROSS_COMPILE ?= x86_64-linux-gnu-
ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
LD := $(CROSS_COMPILE)ld
OBJCOPY := $(CROSS_COMPILE)objcopy
NASM ?= nasm
EFI_INCLUDE ?= /usr/include/efi
EFI_LIB ?= /usr/lib

# VARIANT=inject builds with fault injection for the tests (docs/testing.md), in a folder of its own.
VARIANT ?= release
OBJ := $(BUILD)/$(VARIANT)
VERSION_MAJOR := 0
VERSION_MINOR := 1
VERSION_PATCH := 0

WARNINGS := -Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wundef -Wvla \
    -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wcast-align -Wpointer-arith \
    -Wwrite-strings -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference
IMAGE_CFLAGS := -std=gnu11 -O2 -g $(WARNINGS) -I. -ffreestanding -fno-strict-aliasing \
    -mno-red-zone -mgeneral-regs-only -fpic -fvisibility=hidden -fno-stack-protector \
    -fno-omit-frame-pointer -fcf-protection=none -fno-asynchronous-unwind-tables \
    -ffile-prefix-map=$(CURDIR)=. -fno-common \
    -DSLUICE_VERSION_MAJOR=$(VERSION_MAJOR) -DSLUICE_VERSION_MINOR=$(VERSION_MINOR) \
    -DSLUICE_VERSION_PATCH=$(VERSION_PATCH) $(if $(filter inject,$(VARIANT)),-DSLUICE_INJECT=1)
EFI_CFLAGS := -isystem $(EFI_INCLUDE) -isystem $(EFI_INCLUDE)/x86_64 -fshort-wchar \
    -DGNU_EFI_USE_MS_ABI

IMAGE_C := $(filter-out vmx/asm_offsets.c,$(wildcard boot/*.c core/*.c vmx/*.c hyperv/*.c mm/*.c))
IMAGE_ASM := $(wildcard boot/*.asm core/*.asm vmx/*.asm)
IMAGE_OBJS := $(IMAGE_C:%.c=$(OBJ)/%.o) $(IMAGE_ASM:%.asm=$(OBJ)/%.asm.o)

.PHONY: help all clean release setup-build

# A short line for each step; V=1 shows the commands.
V ?=
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-8s %s\n' '$(1)' '$(2)')

HELP_FIRST := run run-bare test test-long check all

help: ## list the targets
	@grep -hE '^[a-zA-Z0-9_-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' -v first='$(HELP_FIRST)' ' \
	    { text[$$1] = $$2; name[NR] = $$1 } \
	    END { n = split(first, f, " "); \
	        for (i = 1; i <= n; i++) if (f[i] in text) { show(f[i]); delete text[f[i]] } \
	        for (i = 1; i <= NR; i++) if (name[i] in text) show(name[i]) } \
	    function show(t) { printf "  %-18s %s\n", t, text[t] }'
	@printf '%s\n' '' 'Options of run and run-bare (docs/testing.md):' \
	    '  CPUS=4  CPU=corei7_skylake_x  MEM=512 (MiB)  KERNEL=file  TIMEOUT=seconds for one boot' \
	    '  HV=on (or off: without the Microsoft interface)  STRESS=6500 (rounds)' \
	    "  CONFIG='key=value;key=value' (more lines for sluice.cfg)" \
	    '  HOST=bochs (or qemu: QEMU/KVM with nested VT-x)' \
	    'Of all targets: V=1 shows whole commands.'

all: $(BUILD)/sluice.efi $(BUILD)/sluice.img ## build the product and a disk image with it

clean: ## remove everything that was built
	rm -rf $(BUILD)

$(OBJ)/boot/%.o: boot/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(IMAGE_CFLAGS) $(EFI_CFLAGS) -MMD -MP -c $< -o $@

$(OBJ)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(IMAGE_CFLAGS) -MMD -MP -c $< -o $@

$(OBJ)/%.asm.o: %.asm $(OBJ)/asm_offsets.inc Makefile
	@mkdir -p $(@D)
	$(call say,NASM,$<)
	$(Q)$(NASM) -Werror -f elf64 -I $(OBJ)/ -I ./ -MD $(@:.o=.d) -MP -o $@ $<

# The C compiler writes each offset as a string into the assembly text; sed makes NASM lines of them.
$(OBJ)/asm_offsets.inc: vmx/asm_offsets.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(IMAGE_CFLAGS) -MMD -MP -MT $@ -MF $(OBJ)/asm_offsets.d -S $< -o $(OBJ)/asm_offsets.s
	$(Q)sed -n 's/^.*OFFSET:\([A-Z0-9_]*\) \$$*\([0-9]*\).*$$/\1 equ \2/p' $(OBJ)/asm_offsets.s > $@

$(OBJ)/sluice.so: $(IMAGE_OBJS) linker.ld
	$(call say,LD,$@)
	$(Q)$(LD) -nostdlib -shared -Bsymbolic -znocombreloc -znorelro -znoexecstack -zmax-page-size=4096 --no-undefined \
	    --build-id=none --fatal-warnings -T linker.ld -o $@ $(EFI_LIB)/crt0-efi-x86_64.o $(IMAGE_OBJS) \
	    $(EFI_LIB)/libgnuefi.a

$(OBJ)/sluice.efi: $(OBJ)/sluice.so
	$(call say,OBJCOPY,$@)
	$(Q)$(OBJCOPY) -j .text -j .reloc -j .rodata -j .sluice -j .rela -j .data -j .dynamic \
	    --target efi-app-x86_64 --section-alignment 4096 --strip-all $< $@

$(BUILD)/sluice.efi: $(BUILD)/release/sluice.efi
	$(Q)cp $< $@

-include $(IMAGE_OBJS:.o=.d) $(OBJ)/asm_offsets.d
include $(wildcard tests/*.mk)
