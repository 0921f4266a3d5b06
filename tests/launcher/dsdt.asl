// SPDX-License-Identifier: BSD-2-Clause
//
// Bochs' i440FX board as an operating system needs to see it: one PCI root, the clock, the first
// serial port, power off. OVMF publishes no tables there. COM2 is left out on purpose: it belongs
// to the hypervisor under test.
DefinitionBlock ("", "DSDT", 2, "SLUICE", "RIGBOCHS", 0x00000001)
{
    Name (\_S5, Package () { 0x00, 0x00, 0x00, 0x00 })

    Scope (\_SB)
    {
        Device (PCI0)
        {
            Name (_HID, EisaId ("PNP0A03"))
            Name (_UID, Zero)
            Name (_CRS, ResourceTemplate ()
            {
                WordBusNumber (ResourceProducer, MinFixed, MaxFixed, PosDecode,
                    0x0000, 0x0000, 0x00FF, 0x0000, 0x0100)
                IO (Decode16, 0x0CF8, 0x0CF8, 0x01, 0x08)
                WordIO (ResourceProducer, MinFixed, MaxFixed, PosDecode, EntireRange,
                    0x0000, 0x0000, 0x0CF7, 0x0000, 0x0CF8)
                WordIO (ResourceProducer, MinFixed, MaxFixed, PosDecode, EntireRange,
                    0x0000, 0x0D00, 0xFFFF, 0x0000, 0xF300)
                DWordMemory (ResourceProducer, PosDecode, MinFixed, MaxFixed, Cacheable, ReadWrite,
                    0x00000000, 0x000A0000, 0x000BFFFF, 0x00000000, 0x00020000)
                DWordMemory (ResourceProducer, PosDecode, MinFixed, MaxFixed, NonCacheable,
                    ReadWrite, 0x00000000, 0xC0000000, 0xFEBFFFFF, 0x00000000, 0x3EC00000)
            })
            Name (_PRT, Package ()
            {
                Package () { 0x0001FFFF, 0, Zero, 10 },
                Package () { 0x0001FFFF, 1, Zero, 11 },
                Package () { 0x0001FFFF, 2, Zero, 11 },
                Package () { 0x0001FFFF, 3, Zero, 10 },
                Package () { 0x0002FFFF, 0, Zero, 11 },
                Package () { 0x0002FFFF, 1, Zero, 11 },
                Package () { 0x0002FFFF, 2, Zero, 10 },
                Package () { 0x0002FFFF, 3, Zero, 10 }
            })

            Device (ISA)
            {
                Name (_ADR, 0x00010000)

                Device (RTC)
                {
                    Name (_HID, EisaId ("PNP0B00"))
                    Name (_CRS, ResourceTemplate ()
                    {
                        IO (Decode16, 0x0070, 0x0070, 0x01, 0x02)
                        IRQNoFlags () { 8 }
                    })
                }

                Device (COM1)
                {
                    Name (_HID, EisaId ("PNP0501"))
                    Name (_UID, One)
                    Name (_CRS, ResourceTemplate ()
                    {
                        IO (Decode16, 0x03F8, 0x03F8, 0x08, 0x08)
                        IRQNoFlags () { 4 }
                    })
                }

                Device (PMIO)
                {
                    Name (_HID, EisaId ("PNP0C02"))
                    Name (_UID, One)
                    Name (_CRS, ResourceTemplate ()
                    {
                        IO (Decode16, 0xB000, 0xB000, 0x01, 0x40)
                    })
                }
            }
        }
    }
}
