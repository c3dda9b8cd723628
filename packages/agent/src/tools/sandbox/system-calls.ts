// The filter of system calls of a confined program and of what it starts. Calls that change the machine, the
// root, other namespaces or the kernel are refused, as are those with many past faults and those that no
// ordinary program needs. A call with an alternative is refused as unknown, so that programs take the other
// way. Other architectures of the processor number their calls differently, so all their calls are refused.
// Perl puts the filter on: the smallest Debian has it, and Node.js has no call for it. The numbers are the
// kernel's: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.

interface Architecture {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number
  readonly prctl: number
  readonly seccomp: number
  readonly clone: number
  readonly ioctl: number
  readonly socket: number
  /** Refused with EPERM. */
  readonly forbidden: Readonly<Record<string, number>>
}

/** The same numbers on both architectures. */
const newer = {
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  mount_setattr: 442,
  quotactl_fd: 443,
}
/** Refused with ENOSYS; the same numbers on both architectures. */
const unknown = { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, clone3: 435 }

const architectures: Readonly<Partial<Record<NodeJS.Architecture, Architecture>>> = {
  x64: {
    ...{ audit: 0xc000003e, prctl: 157, seccomp: 317, clone: 56, ioctl: 16, socket: 41 },
    forbidden: {
      ...newer,
      ...{
        mount: 165,
        umount2: 166,
        pivot_root: 155,
        chroot: 161,
        setns: 308,
        unshare: 272,
        open_by_handle_at: 304,
        name_to_handle_at: 303,
      },
      ...{
        init_module: 175,
        finit_module: 313,
        delete_module: 176,
        kexec_load: 246,
        kexec_file_load: 320,
        reboot: 169,
        swapon: 167,
        swapoff: 168,
      },
      ...{
        bpf: 321,
        perf_event_open: 298,
        userfaultfd: 323,
        keyctl: 250,
        add_key: 248,
        request_key: 249,
        kcmp: 312,
        fanotify_init: 300,
      },
      ...{
        sethostname: 170,
        setdomainname: 171,
        acct: 163,
        quotactl: 179,
        syslog: 103,
        vhangup: 153,
        lookup_dcookie: 212,
        nfsservctl: 180,
      },
      ...{ settimeofday: 164, clock_settime: 227, adjtimex: 159, clock_adjtime: 305 },
      ...{ ioperm: 173, iopl: 172, modify_ldt: 154, uselib: 134, ustat: 136, sysfs: 139, _sysctl: 156 },
    },
  },
  arm64: {
    ...{ audit: 0xc00000b7, prctl: 167, seccomp: 277, clone: 220, ioctl: 29, socket: 198 },
    forbidden: {
      ...newer,
      ...{
        mount: 40,
        umount2: 39,
        pivot_root: 41,
        chroot: 51,
        setns: 268,
        unshare: 97,
        open_by_handle_at: 265,
        name_to_handle_at: 264,
      },
      ...{
        init_module: 105,
        finit_module: 273,
        delete_module: 106,
        kexec_load: 104,
        kexec_file_load: 294,
        reboot: 142,
        swapon: 224,
        swapoff: 225,
      },
      ...{
        bpf: 280,
        perf_event_open: 241,
        userfaultfd: 282,
        keyctl: 219,
        add_key: 217,
        request_key: 218,
        kcmp: 272,
        fanotify_init: 262,
      },
      ...{
        sethostname: 161,
        setdomainname: 162,
        acct: 89,
        quotactl: 60,
        syslog: 116,
        vhangup: 58,
        lookup_dcookie: 18,
        nfsservctl: 42,
      },
      ...{ settimeofday: 170, clock_settime: 112, adjtimex: 171, clock_adjtime: 266 },
    },
  },
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h. */
const newSpaces = 0x7e020000
/** TIOCSTI and TIOCLINUX: they type into the terminal that the program shares with its caller. */
const typing = [0x5412, 0x541c]
/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. */
const families = [1, 2, 10, 16]
const [allowed, refused] = [0x7fff0000, 0x00050000]
const [eperm, enosys, eafnosupport] = [1, 38, 97]

/**
 * The filter of an architecture, as the kernel takes it: instructions of eight bytes. `null`: there is none
 * for it.
 */
export function callFilter(arch: NodeJS.Architecture): Uint8Array | null {
  const architecture = architectures[arch]
  if (architecture === undefined) return null
  const instructions: [code: number, yes: number, no: number, value: number][] = []
  const load = (offset: number): void => void instructions.push([0x20, 0, 0, offset])
  const jump = (code: number, value: number, yes: number, no: number): void =>
    void instructions.push([code, yes, no, value])
  const end = (value: number): void => void instructions.push([0x06, 0, 0, value])
  const equal = 0x15
  const refuseIf = (number: number, error: number): void => (jump(equal, number, 0, 1), end(refused | error))
  load(4)
  jump(equal, architecture.audit, 1, 0)
  end(refused | enosys)
  load(0)
  // On x64, numbers from here are those of x32.
  jump(0x35, 0x40000000, 0, 1)
  end(refused | enosys)
  for (const number of Object.values(architecture.forbidden)) refuseIf(number, eperm)
  for (const number of Object.values(unknown)) refuseIf(number, enosys)
  // The lower halves of the arguments: the first is at 16, the second at 24.
  jump(equal, architecture.clone, 0, 4)
  load(16)
  jump(0x45, newSpaces, 0, 1)
  end(refused | eperm)
  end(allowed)
  jump(equal, architecture.ioctl, 0, 2 * typing.length + 2)
  load(24)
  for (const request of typing) refuseIf(request, eperm)
  end(allowed)
  jump(equal, architecture.socket, 0, 2 * families.length + 2)
  load(16)
  for (const family of families) {
    jump(equal, family, 0, 1)
    end(allowed)
  }
  end(refused | eafnosupport)
  end(allowed)
  const bytes = Buffer.alloc(8 * instructions.length)
  for (const [i, [code, yes, no, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, 8 * i)
    bytes.writeUInt8(yes, 8 * i + 2)
    bytes.writeUInt8(no, 8 * i + 3)
    bytes.writeUInt32LE(value >>> 0, 8 * i + 4)
  }
  return bytes
}

/** Puts the filter on (PR_SET_NO_NEW_PRIVS, SECCOMP_SET_MODE_FILTER), and becomes the program. */
const putOn = `
my ($prctl, $seccomp, $filter) = (0 + shift, 0 + shift, pack("H*", shift));
my $program = pack("S x![Q] P", length($filter) / 8, $filter);
syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($seccomp, 1, 0, $program) == 0 or die "the filter of system calls: $!\\n";
exec { $ARGV[0] } @ARGV or print STDERR "$ARGV[0]: $!\\n";
exit 127;
`

/**
 * The command under the filter. As it is if there is no filter for the architecture.
 *
 * @param perl the program
 */
export function filteredCommand(
  perl: string,
  command: readonly string[],
  arch: NodeJS.Architecture = process.arch,
): readonly string[] {
  const [of, filter] = [architectures[arch], callFilter(arch)]
  if (of === undefined || filter === null) return command
  return [
    perl,
    '-e',
    putOn,
    String(of.prctl),
    String(of.seccomp),
    Buffer.from(filter).toString('hex'),
    ...command,
  ]
}
