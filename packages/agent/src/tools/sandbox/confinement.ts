// What a confined program may see and do, and the command line that starts it so. It sees the system's
// programs and libraries read-only, its workspace, what it is given besides, its own `/tmp` and its own
// processes: no home folder, no other project. What is hidden stays hidden inside of what is given: a later
// mount lies over an earlier one. When it ends, everything that it started ends too. It has no network unless
// it is given one. Memory, open files, file sizes and the number of processes are bounded; system-calls.ts
// filters its calls.
import { existsSync, lstatSync, readlinkSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { filteredCommand } from './system-calls.ts'

/** What a program may see and do. All paths are absolute. Those that do not exist are left out. */
export interface Confinement {
  /** The working folder, which is part of `writable`, of `readable` or of the system. */
  readonly cwd: string
  readonly writable: readonly string[]
  readonly readable?: readonly string[]
  /** Folders and files that it must not see although they lie in what it is given: they look empty. */
  readonly hidden?: readonly string[]
  readonly network: boolean
  /** The most bytes of its `/tmp`, of its `/dev/shm` and of each hidden folder, which are memory. Default: half of the memory each. */
  readonly tmpBytesMax?: number | undefined
  /** Where programs are found. Folders of it that are no part of the system are readable. */
  readonly path?: string | undefined
}

/** The programs of a backend. */
export type SandboxPrograms = (
  | { readonly backend: 'bubblewrap'; readonly bwrap: string }
  | { readonly backend: 'unshare'; readonly unshare: string }
) & {
  /** Sets the bounds. `null`: there are none. */
  readonly prlimit: string | null
  /** Puts the filter of system calls on. `null`: there is none. */
  readonly perl: string | null
}

export type Mount =
  | { readonly kind: 'read' | 'write' | 'empty' | 'mask'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

/** How the machine looks, for tests: what there is at a path. */
export interface Places {
  kind(path: string): 'folder' | 'file' | 'link' | 'none'
  target(path: string): string
}

const systemFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix/store',
  '/run/current-system',
  '/run/systemd/resolve',
]
const secretFiles = ['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/sudoers']
const bounds = ['--core=0', '--nofile=1024', '--nproc=512', `--data=${4 * 1024 ** 3}`, `--fsize=${1024 ** 3}`]

/**
 * From Linux 6.14 on, each process namespace has its own highest process number. Before, this would be the
 * one of the machine. The kernel does not use numbers below 300 twice, so this leaves room for 512 processes
 * and threads. It holds for root too, for whom `nproc` does not.
 */
const pidMax = 812
const hasOwnPidMax = ((of: string) => {
  const [major = 0, minor = 0] = of.split('.').map(Number)
  return major > 6 || (major === 6 && minor >= 14)
})(release())

/** The command that runs a program confined. */
export function confinedCommand(
  programs: SandboxPrograms,
  confinement: Confinement,
  command: readonly [string, ...string[]],
  places: Places = machine,
): { readonly program: string; readonly args: string[] } {
  const mounts = mountsOf(confinement, places)
  const filtered = programs.perl === null ? command : filteredCommand(programs.perl, command)
  const bounded = programs.prlimit === null ? filtered : [programs.prlimit, ...bounds, '--', ...filtered]
  if (programs.backend === 'bubblewrap')
    return { program: programs.bwrap, args: [...bubblewrapArgs(mounts, confinement), '--', ...bounded] }
  const network = confinement.network ? [] : ['--net']
  const spaces = [
    '--user',
    '--map-root-user',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child=SIGKILL',
    '--ipc',
    '--uts',
    ...network,
  ]
  const plan = mounts.flatMap((mount) =>
    mount.kind === 'link' ? ['link', mount.path, mount.target] : [mount.kind, mount.path, '-'],
  )
  return {
    program: programs.unshare,
    args: [
      ...spaces,
      '--',
      ...['/bin/sh', '-c', newRoot, 'sh', confinement.cwd, memoryOptions(confinement)],
      ...[hasOwnPidMax ? String(pidMax) : '', ...plan, '--', ...bounded],
    ],
  }
}

/** Of a file system in memory. Files without content fill memory too, so their number has a bound. */
const memoryOptions = ({ tmpBytesMax }: Confinement): string =>
  tmpBytesMax === undefined
    ? 'mode=1777'
    : `mode=1777,size=${tmpBytesMax},nr_inodes=${Math.max(1_024, Math.ceil(tmpBytesMax / 4_096))}`

/** What is mounted in an empty root, in this order. */
export function mountsOf(
  { writable, readable = [], hidden = [], path = '' }: Confinement,
  places: Places = machine,
): Mount[] {
  const system = systemFolders.flatMap((folder): Mount[] => {
    const kind = places.kind(folder)
    if (kind === 'link') return [{ kind: 'link', path: folder, target: places.target(folder) }]
    return kind === 'none' ? [] : [{ kind: 'read', path: folder }]
  })
  const isSystem = (each: string): boolean => systemFolders.some((folder) => isWithin(each, folder))
  const programs = path.split(':').filter((folder) => isAbsolute(folder) && !isSystem(folder))
  const there = (each: string): boolean => places.kind(each) !== 'none'
  const wantedMounts = [
    ...[...new Set([...programs, ...readable])]
      .filter(there)
      .map((each): Mount => ({ kind: 'read', path: each })),
    ...writable.filter(there).map((each): Mount => ({ kind: 'write', path: each })),
  ].toSorted((a, b) => a.path.length - b.path.length)
  const seen = (each: string): boolean =>
    [...systemFolders, ...wantedMounts.map((mount) => mount.path)].some((folder) => isWithin(each, folder))
  const covered = [...hidden, ...secretFiles].filter((each) => there(each) && seen(each))
  const inside = (each: string): boolean => covered.some((hiddenPath) => isWithin(each, hiddenPath))
  // What was given inside of a hidden folder is given again, over the folder.
  const again = wantedMounts.filter((mount) => inside(mount.path) && !covered.includes(mount.path))
  return [
    ...system,
    { kind: 'empty', path: '/tmp' },
    ...wantedMounts,
    ...covered.map((each): Mount => ({
      kind: places.kind(each) === 'folder' ? 'empty' : 'mask',
      path: each,
    })),
    ...again,
  ]
}

function bubblewrapArgs(mounts: readonly Mount[], { cwd, network, tmpBytesMax }: Confinement): string[] {
  const size = tmpBytesMax === undefined ? [] : ['--size', String(tmpBytesMax)]
  const spaces = [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(network ? [] : ['--unshare-net']),
  ]
  const mounted = mounts.flatMap((mount): string[] => {
    switch (mount.kind) {
      case 'read':
        return ['--ro-bind', mount.path, mount.path]
      case 'write':
        return ['--bind', mount.path, mount.path]
      case 'empty':
        return [...size, '--tmpfs', mount.path]
      case 'mask':
        return ['--ro-bind', '/dev/null', mount.path]
      case 'link':
        return ['--symlink', mount.target, mount.path]
      default:
        return mount satisfies never
    }
  })
  return [
    ...spaces,
    '--die-with-parent',
    '--cap-drop',
    'ALL',
    '--proc',
    '/proc',
    ...['--dev', '/dev', ...size, '--perms', '1777', '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...mounted,
    '--remount-ro',
    '/',
    '--chdir',
    cwd,
  ]
}

/**
 * Builds the root in a new mount namespace, as bubblewrap does, and runs the program in it without any
 * capability. `/sys` is where the new root is put together, because every system has it and no program gets
 * it. The shell stays, so that the program is not process 1, to which the kernel gives no signals.
 */
const newRoot = `
set -e
cwd=$1; memory=$2; pids=$3; shift 3
R=/sys
# The PATH of a person may lack the folders of pivot_root.
path=$PATH; PATH=$PATH:/usr/sbin:/sbin
readonly_() { mount -o remount,bind,ro "$1" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$1" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev,noexec "$1"; }
bind_() { if [ -d "$1" ]; then mkdir -p "$R$1"; else mkdir -p "$R\${1%/*}"; [ -e "$R$1" ] || : > "$R$1"; fi; mount --rbind "\${2:-$1}" "$R$1"; }
mount --make-rprivate /
mount -t tmpfs -o mode=755 beaver $R
mkdir $R/proc $R/dev $R/.old
mount -t proc proc $R/proc
[ -z "$pids" ] || { echo "$pids" > $R/proc/sys/kernel/pid_max; } 2>/dev/null || :
for each in null zero full random urandom; do : > $R/dev/$each; mount --bind /dev/$each $R/dev/$each; done
ln -s /proc/self/fd $R/dev/fd; ln -s /proc/self/fd/0 $R/dev/stdin; ln -s /proc/self/fd/1 $R/dev/stdout; ln -s /proc/self/fd/2 $R/dev/stderr
mkdir $R/dev/shm; mount -t tmpfs -o "$memory" beaver $R/dev/shm
while [ "$1" != -- ]; do
  case $1 in
    read) bind_ "$2"; readonly_ "$R$2" ;;
    write) bind_ "$2" ;;
    empty) mkdir -p "$R$2"; mount -t tmpfs -o "$memory" beaver "$R$2" ;;
    mask) bind_ "$2" /dev/null ;;
    link) mkdir -p "$R\${2%/*}"; ln -s "$3" "$R$2" ;;
  esac
  shift 3
done
shift
cd $R
pivot_root . .old
umount -l /.old
rmdir /.old
mount -o remount,ro /
cd "$cwd"
set +e
PATH=$path
setpriv --no-new-privs --inh-caps=-all --bounding-set=-all -- "$@"
exit $?
`

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)

const machine: Places = {
  kind(path) {
    try {
      // The entries of the root may be links, such as /bin. Deeper links are followed.
      if (dirname(path) === '/' && lstatSync(path).isSymbolicLink()) return 'link'
      return statSync(path).isDirectory() ? 'folder' : 'file'
    } catch {
      return 'none'
    }
  },
  target: (path) => readlinkSync(path),
}

/**
 * The folder of a package and of everything that its modules import: the outermost folder above a file that
 * has `node_modules`.
 */
export function packageRoot(file: string): string {
  let root = dirname(file)
  for (let folder = root; dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, 'node_modules'))) root = folder
  return root
}
