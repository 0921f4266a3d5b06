/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_CR_BITS_H
#define CORE_CR_BITS_H

#include "core/bits.h"

/* Control and flag register bits (SDM volume 3, "Control Registers"). */

#define CR0_PE BIT64(0)
#define CR0_MP BIT64(1)
#define CR0_EM BIT64(2)
#define CR0_TS BIT64(3)
#define CR0_ET BIT64(4)
#define CR0_NE BIT64(5)
#define CR0_WP BIT64(16)
#define CR0_AM BIT64(18)
#define CR0_NW BIT64(29)
#define CR0_CD BIT64(30)
#define CR0_PG BIT64(31)

#define CR4_PSE      BIT64(4)
#define CR4_PAE      BIT64(5)
#define CR4_MCE      BIT64(6)
#define CR4_PGE      BIT64(7)
#define CR4_OSFXSR   BIT64(9)
#define CR4_UMIP     BIT64(11)
#define CR4_LA57     BIT64(12)
#define CR4_VMXE     BIT64(13)
#define CR4_SMXE     BIT64(14)
#define CR4_FSGSBASE BIT64(16)
#define CR4_PCIDE    BIT64(17)
#define CR4_OSXSAVE  BIT64(18)
#define CR4_SMEP     BIT64(20)
#define CR4_SMAP     BIT64(21)
#define CR4_PKE      BIT64(22)
#define CR4_CET      BIT64(23)

#define RFLAGS_RESERVED_1 BIT64(1)
#define RFLAGS_TF         BIT64(8)
#define RFLAGS_IF         BIT64(9)
#define RFLAGS_DF         BIT64(10)
#define RFLAGS_RF         BIT64(16)
#define RFLAGS_VM         BIT64(17)
#define RFLAGS_AC         BIT64(18)

#define DR6_RESET       0xFFFF0FF0ull
#define DR6_BREAKPOINTS 0xFull /* B0 to B3 */
#define DR6_NO_BUS_LOCK BIT64(11)
#define DR6_BD          BIT64(13)
#define DR6_BS          BIT64(14)
#define DR6_NO_RTM      BIT64(16)
#define DR7_RESET       0x400ull
#define DR7_GD          BIT64(13)

#endif
