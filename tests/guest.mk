# SPDX-License-Identifier: BSD-2-Clause
# Small guests: UEFI images that take the machine over. build/guest/guest.efi holds all test groups,
# build/guest/smoke.efi is the smallest one. Sources are tests/guest/*, the shared runtime is
# tests/guest/runtime/*; the formatter and the memory functions come from core/.

CROSS_COMPILE ?= x86_64-linux-gnu-
NASM ?= nasm
GUEST_CC ?= $(CROSS_COMPILE)gcc
GUEST_EFI_INCLUDE ?= /usr/include/efi
GUEST_EFI_LIB ?= /usr/lib
BUILD ?= build
GUEST_BUILD := $(BUILD)/guest

GUEST_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow \
	-Wundef -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wcast-align \
	-Wpointer-arith -Wwrite-strings -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference \
	-ffreestanding -fno-strict-aliasing -fno-stack-protector -fshort-wchar -fpic \
	-fvisibility=hidden -mno-red-zone -mgeneral-regs-only -fno-asynchronous-unwind-tables \
	-ffile-prefix-map=$(CURDIR)=. -DGNU_EFI_USE_MS_ABI -I. \
	-isystem $(GUEST_EFI_INCLUDE) -isystem $(GUEST_EFI_INCLUDE)/x86_64
GUEST_NASMFLAGS := -f elf64 -Worphan-labels -Werror

GUEST_CORE := core/fmt.c core/mem.c core/string.c
GUEST_RUNTIME := $(sort $(wildcard tests/guest/runtime/*.c tests/guest/runtime/*.asm))
GUEST_SMOKE := tests/guest/smoke.c
GUEST_MAIN := $(filter-out $(GUEST_SMOKE),$(sort $(wildcard tests/guest/*.c tests/guest/*.asm)))

guest_objects = $(addprefix $(GUEST_BUILD)/,$(addsuffix .o,$(GUEST_CORE) $(GUEST_RUNTIME) $(1)))

.PHONY: guests
guests: $(GUEST_BUILD)/guest.efi $(GUEST_BUILD)/smoke.efi ## build the small test guests

$(GUEST_BUILD)/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(GUEST_CC) $(GUEST_CFLAGS) -MMD -MP -c $< -o $@

$(GUEST_BUILD)/%.asm.o: %.asm
	@mkdir -p $(@D)
	$(call say,NASM,$<)
	$(Q)$(NASM) $(GUEST_NASMFLAGS) -MD $(@:.o=.d) -I. $< -o $@

$(GUEST_BUILD)/guest.so: $(call guest_objects,$(GUEST_MAIN))
$(GUEST_BUILD)/smoke.so: $(call guest_objects,$(GUEST_SMOKE))

$(GUEST_BUILD)/%.so:
	$(call say,LD,$@)
	$(Q)$(CROSS_COMPILE)ld -nostdlib -shared -Bsymbolic -znocombreloc --no-undefined \
		-z noexecstack -T $(GUEST_EFI_LIB)/elf_x86_64_efi.lds \
		$(GUEST_EFI_LIB)/crt0-efi-x86_64.o $^ $(GUEST_EFI_LIB)/libgnuefi.a -o $@

$(GUEST_BUILD)/%.efi: $(GUEST_BUILD)/%.so
	$(call say,OBJCOPY,$@)
	$(Q)$(CROSS_COMPILE)objcopy -j .text -j .sdata -j .data -j .dynamic -j .dynsym -j .rel \
		-j .rela -j '.rel.*' -j '.rela.*' -j .reloc --target=efi-app-x86_64 --subsystem=10 $< $@

.PRECIOUS: $(GUEST_BUILD)/%.so

-include $(patsubst %.o,%.d,$(call guest_objects,$(GUEST_MAIN) $(GUEST_SMOKE)))
