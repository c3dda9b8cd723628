import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { confinedCommand, mountsOf, type Places } from './confinement.ts'
import { confined, probe } from './sandbox.ts'

const machine = (there: Record<string, 'folder' | 'file' | 'link'>): Places => ({
  kind: (path) => there[path] ?? 'none',
  target: (path) => `usr${path}`,
})
const debian = machine({
  '/usr': 'folder',
  '/bin': 'link',
  '/etc': 'folder',
  '/etc/shadow': 'file',
  '/w': 'folder',
  '/w/.beaver': 'folder',
  '/home/me/bin': 'folder',
})

describe('the mounts of a confined program', () => {
  it('are the system read-only, a /tmp, what it is given, and covers over what is hidden', () => {
    const of = {
      cwd: '/w',
      writable: ['/w'],
      hidden: ['/w/.beaver', '/elsewhere'],
      network: false,
      path: '/usr/bin:/home/me/bin:relative',
    }
    expect(mountsOf(of, debian)).toEqual([
      { kind: 'read', path: '/usr' },
      { kind: 'link', path: '/bin', target: 'usr/bin' },
      { kind: 'read', path: '/etc' },
      { kind: 'empty', path: '/tmp' },
      { kind: 'write', path: '/w' },
      { kind: 'read', path: '/home/me/bin' },
      { kind: 'empty', path: '/w/.beaver' },
      { kind: 'mask', path: '/etc/shadow' },
    ])
  })

  it('give a workspace inside of a hidden folder again, over the folder', () => {
    const places = machine({ '/h': 'folder', '/h/w': 'folder' })
    const of = { cwd: '/h/w', writable: ['/h/w'], readable: ['/h'], hidden: ['/h'], network: false }
    expect(mountsOf(of, places)).toEqual([
      { kind: 'empty', path: '/tmp' },
      { kind: 'read', path: '/h' },
      { kind: 'write', path: '/h/w' },
      { kind: 'empty', path: '/h' },
      { kind: 'write', path: '/h/w' },
    ])
  })
})

describe('the command of a backend', () => {
  const of = { cwd: '/w', writable: ['/w'], network: false }

  it('is bubblewrap with its own namespaces, no capability and the bounds', () => {
    const { program, args } = confinedCommand(
      { backend: 'bubblewrap', bwrap: '/b/bwrap', prlimit: '/b/prlimit', perl: null },
      of,
      ['git', 'status'],
      debian,
    )
    expect(program).toBe('/b/bwrap')
    const text = args.join(' ')
    for (const part of [
      '--unshare-user',
      '--unshare-pid',
      '--unshare-net',
      '--die-with-parent',
      '--cap-drop ALL',
      '--ro-bind /usr /usr',
      '--bind /w /w',
      '--chdir /w',
    ])
      expect(text).toContain(part)
    expect(text).toMatch(
      /--remount-ro \/ --chdir \/w -- \/b\/prlimit --core=0 .*--nproc=512 .* -- git status$/,
    )
    expect(
      confinedCommand(
        { backend: 'bubblewrap', bwrap: 'b', prlimit: null, perl: null },
        { ...of, network: true },
        ['x'],
        debian,
      ).args,
    ).not.toContain('--unshare-net')
  })

  it('is unshare with a shell that builds the root; what the command contains is an argument and never a part of the script', () => {
    const evil = '"; rm -rf /; "'
    const { program, args } = confinedCommand(
      { backend: 'unshare', unshare: '/b/unshare', prlimit: null, perl: null },
      { ...of, cwd: evil },
      [evil],
      debian,
    )
    expect(program).toBe('/b/unshare')
    const script = args.findIndex((each) => each.includes('pivot_root'))
    expect(args[script]).not.toContain(evil)
    expect(args.slice(script + 1, script + 3)).toEqual(['sh', evil])
    expect(args.slice(-2)).toEqual(['--', evil])
    expect(args.slice(0, script)).toEqual(
      expect.arrayContaining(['--net', '--pid', '--user', '--kill-child=SIGKILL']),
    )
  })
})

describe('the sandbox of this machine', () => {
  let folder: string
  beforeEach(async () => void (folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-sandbox-')))))
  afterEach(() => rm(folder, { recursive: true, force: true }))

  /** A PATH with only these programs. */
  async function only(...names: string[]): Promise<string> {
    const path = join(folder, `path-${names.join('-')}`)
    await mkdir(path)
    for (const name of names) {
      const { stdout } = await run('sh', ['-c', `command -v ${name}`])
      await symlink(stdout.trim(), join(path, name))
    }
    return path
  }

  it('is that of util-linux where there is no bubblewrap, and none where there is neither', async () => {
    expect(await probe(await only('unshare', 'setpriv', 'prlimit'))).toMatchObject({
      backend: 'unshare',
      perl: null,
    })
    expect(await probe(await only('unshare', 'setpriv', 'perl'))).toMatchObject({
      backend: 'unshare',
      perl: expect.stringContaining('perl') as string,
    })
    expect(await probe(await only('prlimit'))).toBeNull()
    expect(await probe('')).toBeNull()
  })

  it('does not count as bubblewrap if it does not work', async () => {
    const path = await only('unshare', 'setpriv')
    await writeFile(join(path, 'bwrap'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    expect(await probe(path)).toMatchObject({ backend: 'unshare' })
  })

  it('of util-linux confines: no parent, no neighbour, no network, no capability, and nothing stays', async () => {
    process.env['BEAVER_TEST_KEY'] = 'canary'
    const programs = await probe(await only('unshare', 'setpriv', 'prlimit'))
    if (programs === null) throw new Error('This machine has no user namespaces.')
    const workspace = join(folder, 'w')
    await mkdir(join(workspace, 'home'), { recursive: true })
    await writeFile(join(workspace, 'home', 'key'), 'canary')
    await writeFile(join(folder, 'neighbour'), 'canary')
    const script = `cat /proc/[0-9]*/environ ${folder}/neighbour home/key /etc/shadow; cat /proc/net/dev | grep -c :; grep CapEff /proc/self/status; echo x > /usr/x; echo x > /x; chroot / true; mount -t tmpfs x /tmp; echo done > file; cat file; exit 9`
    const of = {
      cwd: workspace,
      writable: [workspace],
      hidden: [join(workspace, 'home')],
      network: false,
      path: process.env['PATH'],
    }
    const { program, args } = confinedCommand(programs, of, ['/bin/sh', '-c', script])
    const { stdout, code } = await run(program, args)
    expect(stdout.replaceAll('\0', '\n')).not.toMatch(/canary$|^root:/m)
    expect(stdout).toMatch(/1\nCapEff:\t0000000000000000\ndone\n$/)
    expect(code).toBe(9)
    delete process.env['BEAVER_TEST_KEY']
  })

  it('filters system calls: no new namespace, no kernel keys, no io_uring, no typing into a terminal, no strange socket; the usual ones work', async () => {
    const programs = await probe(await only('unshare', 'setpriv', 'prlimit', 'perl'))
    if (programs === null || programs.perl === null) throw new Error('This machine has no filter.')
    const [unshare, keyctl, clone, ioctl, socket] =
      process.arch === 'x64' ? [272, 250, 56, 16, 41] : [97, 219, 220, 29, 198]
    const numbers = [
      [unshare, 0x10000000],
      [keyctl, 0],
      [clone, 0x10000000],
      [425, 1],
      [ioctl, 0, 0x5412, 0],
      [socket, 38, 5, 0],
      [socket, 2, 1, 0],
      [socket, 16, 3, 0],
    ]
    const script = numbers.map((each) => `$! = 0; syscall(${each.join(', ')}); print $! + 0, " ";`).join(' ')
    const of = {
      cwd: folder,
      writable: [folder],
      readable: [dirname(process.execPath)],
      network: false,
      path: process.env['PATH'],
    }
    const made = async (...command: [string, ...string[]]) => {
      const { program, args } = confinedCommand(programs, of, command)
      return run(program, args)
    }
    expect((await made('perl', '-e', script)).stdout).toBe('1 1 1 38 1 97 0 0 ')
    const threads =
      'const { Worker } = require("worker_threads"); new Worker("console.log(6 * 7)", { eval: true })'
    expect(await made(process.execPath, '-e', threads)).toEqual({ stdout: '42\n', code: 0 })
    expect((await made('/no/such/program')).code).toBe(127)
  })

  it('runs a program as it is with "off"', async () => {
    expect(
      await confined({ mode: 'off', hidden: [], readable: [] }, { cwd: '/', writable: [], network: false }, [
        'git',
        'status',
      ]),
    ).toEqual({
      program: 'git',
      args: ['status'],
      backend: 'none',
    })
  })
})

function run(program: string, args: readonly string[]): Promise<{ stdout: string; code: number }> {
  const path = [process.env['PATH'] ?? '', '/usr/sbin', '/sbin'].join(delimiter)
  return new Promise((resolve) =>
    execFile(program, args, { env: { PATH: path }, encoding: 'utf8' }, (error, stdout) =>
      resolve({ stdout, code: Number(error?.code ?? 0) }),
    ),
  )
}
