# SPDX-License-Identifier: BSD-2-Clause
"""Make a FAT disk image with files in it, without root or a loop device.

    mkimage [--gpt] [--size MIB] IMAGE DEST=FILE... [--text DEST=TEXT...]

DEST is a path on the image with forward slashes, as in EFI/BOOT/BOOTX64.EFI. With --gpt the image
is a whole disk with one EFI system partition, for a USB stick; without, it is one FAT volume.
Two runs on the same input give the same bytes.
"""

import argparse
import os
import subprocess
import sys
import tempfile

SECTOR = 512
CYLINDER_SECTORS = 16 * 63
PARTITION_START = 2048          # sectors: 1 MiB
GPT_TAIL = 34                   # sectors: the backup table
DISK_GUID = '53C5A2E0-0001-4D1C-8E6B-5C1D1CE00001'
PARTITION_GUID = '53C5A2E0-0002-4D1C-8E6B-5C1D1CE00002'
VOLUME_SERIAL = '5C1D1CE0'
MINIMUM_MIB = 40                # a FAT32-sized volume; also holds what firmware writes itself


def run(*command):
    """Run a tool quietly; its output is shown when it fails."""
    environment = dict(os.environ, MTOOLS_SKIP_CHECK='1', TZ='UTC')
    environment.setdefault('SOURCE_DATE_EPOCH', '1577836800')
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise SystemExit(f'mkimage: {command[0]} failed: '
                         f'{done.stdout.decode(errors="replace").strip()}')


def split_pair(pair):
    """Return (destination, rest) of DEST=REST."""
    destination, equals, rest = pair.partition('=')
    if not equals or not destination:
        raise SystemExit(f"mkimage: '{pair}' is not DEST=FILE")
    return destination.strip('/'), rest


def parents(destinations):
    """Return the folders that the destinations need, outer ones first."""
    needed = set()
    for destination in destinations:
        parts = destination.split('/')[:-1]
        for depth in range(1, len(parts) + 1):
            needed.add('/'.join(parts[:depth]))
    return sorted(needed)


def sector_count(files, size_mib):
    """Return the size of the volume in sectors, a whole number of cylinders."""
    content = sum(os.path.getsize(path) for path in files.values())
    mib = size_mib or max(MINIMUM_MIB, content * 5 // 4 // 1048576 + 16)
    return -(-mib * 1048576 // SECTOR // CYLINDER_SECTORS) * CYLINDER_SECTORS


def make_volume(image, files, sectors, offset_sectors):
    """Format a volume at an offset of the image and copy the files into it."""
    where = image if offset_sectors == 0 else f'{image}@@{offset_sectors * SECTOR}'
    run('mformat', '-i', where, '-T', str(sectors), '-h', '16', '-s', '63', '-F',
        '-N', VOLUME_SERIAL, '-v', 'SLUICE', '-H', str(offset_sectors), '::')
    for folder in parents(files):
        run('mmd', '-i', where, f'::/{folder}')
    for destination, path in sorted(files.items()):
        run('mcopy', '-i', where, path, f'::/{destination}')


def make_image(image, files, size_mib=None, gpt=False):
    """Write the image; files maps destinations to paths."""
    sectors = sector_count(files, size_mib)
    start = PARTITION_START if gpt else 0
    total = sectors if not gpt else \
        -(-(start + sectors + GPT_TAIL) // CYLINDER_SECTORS) * CYLINDER_SECTORS
    temporary = f'{image}.new'
    with open(temporary, 'wb') as handle:
        handle.truncate(total * SECTOR)
    if gpt:
        run('sgdisk', '--clear', f'--new=1:{start}:{start + sectors - 1}', '--typecode=1:EF00',
            '--change-name=1:SLUICE', f'--disk-guid={DISK_GUID}',
            f'--partition-guid=1:{PARTITION_GUID}', temporary)
    make_volume(temporary, files, sectors, start)
    os.replace(temporary, image)


def main():
    parser = argparse.ArgumentParser(prog='mkimage', description=__doc__.split('\n', 1)[0])
    parser.add_argument('--gpt', action='store_true')
    parser.add_argument('--size', type=int, metavar='MIB')
    parser.add_argument('--text', action='append', default=[], metavar='DEST=TEXT')
    parser.add_argument('image')
    parser.add_argument('files', nargs='*', metavar='DEST=FILE')
    arguments = parser.parse_args()
    files = dict(split_pair(pair) for pair in arguments.files)
    for path in files.values():
        if not os.path.isfile(path):
            raise SystemExit(f'mkimage: {path}: no such file')
    with tempfile.TemporaryDirectory() as folder:
        for number, pair in enumerate(arguments.text):
            destination, text = split_pair(pair)
            files[destination] = os.path.join(folder, str(number))
            with open(files[destination], 'w', encoding='utf-8') as handle:
                handle.write(text.rstrip('\n') + '\n')
        make_image(arguments.image, files, arguments.size, arguments.gpt)


if __name__ == '__main__':
    sys.exit(main())
