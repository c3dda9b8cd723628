// run_command in the sandboxes that this machine has. util-linux has one of them, so every Linux machine on
// which the tests run has one.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { homedir, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:net'
import { findSandbox, type SandboxOptions } from '@beaver/agent/tool-kit'
import { toolContext, until } from '@beaver/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandResult, runCommand } from './run-command.ts'

let folder: string
let workspace: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-confined-')))
  workspace = join(folder, 'workspace')
  await mkdir(join(workspace, '.beaver', 'nats'), { recursive: true })
  await writeFile(join(workspace, '.beaver', 'nats', 'daemon.nk'), 'SUSEED')
  await writeFile(join(folder, 'neighbour'), 'of another project')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const options = (network: readonly string[] = []) => ({
  enabled: true,
  timeoutMs: 60_000,
  outputBytesMax: 65_536,
  tmpBytesMax: 8_388_608,
  network,
})
async function sh(
  script: string,
  { mode = 'required', network = [] as readonly string[], signal = new AbortController().signal } = {},
): Promise<CommandResult> {
  const sandbox = { mode, hidden: [join(workspace, '.beaver')], readable: [] } as SandboxOptions
  const tool = runCommand(options(network), sandbox)
  return JSON.parse(
    await tool.invoke({ command: 'sh', args: ['-c', script] }, toolContext({ workspace, signal })),
  ) as CommandResult
}

const isBubblewrap = (await findSandbox())?.backend === 'bubblewrap'
const [major = 0, minor = 0] = release().split('.').map(Number)
/** The bound does not hold for root with bubblewrap or on an older system (docs/reference/tools.md). */
const boundsProcesses =
  process.getuid?.() !== 0 || (!isBubblewrap && (major > 6 || (major === 6 && minor >= 14)))

describe('a confined command', () => {
  it('works in its workspace, and its files stay', async () => {
    expect(await sh('pwd; echo kept > file; cat file; exit 3')).toMatchObject({
      exit_code: 3,
      stdout: `${workspace}\nkept\n`,
      stderr: '',
    })
    expect(await readFile(join(workspace, 'file'), 'utf8')).toBe('kept\n')
  })

  it('does not read the key in the environment of the process that started it', async () => {
    process.env['BEAVER_TEST_KEY'] = 'sk-canary'
    try {
      const { stdout } = await sh(
        `cat /proc/*/environ /proc/${process.pid}/environ 2>/dev/null; tr '\\0' '\\n' < /proc/self/environ; ls -d /proc/[0-9]* | wc -l`,
      )
      expect(stdout).not.toContain('canary')
      expect(Number(stdout.trim().split('\n').at(-1))).toBeLessThan(8)
    } finally {
      delete process.env['BEAVER_TEST_KEY']
    }
  })

  it('sees no home, no neighbour and no home of Beaver, and cannot write outside of its workspace', async () => {
    const { stdout, stderr } = await sh(
      `ls -A .beaver; cat ${join(folder, 'neighbour')}; cat .beaver/nats/daemon.nk; for f in /usr/x /etc/x /x ${join(folder, 'x')} ${homedir()}/x; do echo x > $f; done; cat /etc/shadow`,
    )
    expect(stdout).toBe('')
    // Of the home, at most the folders with programs are there.
    const inHome = (await sh(`ls -A ${homedir()}`)).stdout.split('\n').filter((name) => name !== '')
    const path = process.env['PATH'] ?? ''
    expect(
      inHome.filter(
        (name) =>
          !path.includes(`${homedir()}/${name}`) && !import.meta.dirname.startsWith(`${homedir()}/${name}`),
      ),
    ).toEqual([])
    expect(
      stderr.match(/annot create|Permission denied|Directory nonexistent|Read-only/g)?.length,
    ).toBeGreaterThanOrEqual(5)
    expect((await sh('ls /tmp')).stdout).not.toContain('beaver-nats')
  })

  it('starts for a person whose PATH lacks the programs of the administrator', async () => {
    const before = process.env['PATH']
    process.env['PATH'] = '/usr/bin:/bin'
    try {
      expect(await sh('echo "$PATH"')).toMatchObject({ exit_code: 0, stdout: '/usr/bin:/bin\n' })
    } finally {
      process.env['PATH'] = before
    }
  })

  it('has no network, unless a rule gives it one', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const script = `node -e "require('net').connect(${port}, '127.0.0.1').on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))"`
    try {
      expect((await sh(script)).stdout).toMatch(/ECONNREFUSED|ENETUNREACH/)
      expect((await sh(script, { network: ['git fetch*'] })).stdout).toMatch(/ECONNREFUSED|ENETUNREACH/)
      expect((await sh(script, { network: ['sh -c *'] })).stdout).toBe('hello\n')
      // The text matches, and the script is more than the pattern says.
      for (const pattern of ['sh -c true*', "sh -c 'true*"])
        expect((await sh(`true; ${script}`, { network: [pattern] })).stdout).toMatch(
          /ECONNREFUSED|ENETUNREACH/,
        )
    } finally {
      server.close()
    }
  })

  it('has no capability, and bounds for files and memory', async () => {
    const { stdout } = await sh(
      'grep CapEff /proc/self/status; ulimit -n; ulimit -d; ulimit -f; mount -t tmpfs x /tmp || echo refused',
    )
    expect(stdout).toBe('CapEff:\t0000000000000000\n1024\n4194304\n2097152\nrefused\n')
  })

  it('fills no memory with /tmp, /dev/shm or the folder over the home of Beaver', async () => {
    for (const place of ['/tmp', '/dev/shm', '.beaver']) {
      const { stderr, stdout } = await sh(
        `head -c 20000000 /dev/zero > ${place}/large; rm ${place}/large; perl -e 'my $n = 0; while ($n < 4000 && open(my $file, ">", "${place}/$n")) { $n++ } print $n'`,
      )
      expect(stderr).toMatch(/head: .*No space left on device/)
      // 2,048 inodes with util-linux. bubblewrap has no bound for them.
      if (!isBubblewrap) expect(Number(stdout)).toBeLessThan(2_048)
    }
    expect((await sh('echo x > /dev/x')).stderr).toMatch(/Read-only|Permission denied/)
  })

  it.runIf(boundsProcesses)('is stopped when it makes more processes than it may', async () => {
    const { stdout } = await sh(
      `perl -e 'for (1..2000) { my $p = fork; if (!defined $p) { print "stopped at $_"; kill 9, @p; exit } if (!$p) { sleep 60; exit } push @p, $p }'`,
    )
    const made = Number(/^stopped at (\d+)$/.exec(stdout)?.[1])
    expect(made).toBeGreaterThan(256)
    expect(made).toBeLessThan(812)
  })

  it('is gone with what left its group, when it has ended and when the call is cancelled', async () => {
    // What it leaves behind holds a pipe open. The reader of the pipe hears its end when that is gone.
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    const gone = (): Promise<unknown> => once(createReadStream(join(workspace, 'pipe')).resume(), 'end')
    const leave =
      "setsid sh -c 'echo > left; sleep 600' > pipe 2> /dev/null & while [ ! -e left ]; do sleep 0.02; done"
    const first = gone()
    await sh(leave)
    await first
    await rm(join(workspace, 'left'))
    const second = gone()
    const stop = new AbortController()
    const running = sh(`${leave}; sleep 600`, { signal: stop.signal })
    await until('it has left something', () => existsSync(join(workspace, 'left')))
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    await second
  })

  it('runs as before with "off", which sees the neighbour', async () => {
    expect((await sh(`cat ${join(folder, 'neighbour')}`, { mode: 'off' })).stdout).toBe('of another project')
  })
})

it('is refused where a sandbox is required and there is none, with what to do', () => {
  const source = `
    const { runCommand } = await import(${JSON.stringify(new URL('./run-command.ts', import.meta.url).href)})
    const tool = runCommand(${JSON.stringify(options())}, { mode: 'required', hidden: [], readable: [] })
    await tool.invoke({ command: 'true', args: [] }, { workspace: '/', signal: new AbortController().signal }).catch((error) => console.log(error.code, error.message))`
  // A process that may make no user namespace, as in many containers.
  const limited = [
    '--',
    'sh',
    '-c',
    'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
    'sh',
    process.execPath,
    '--input-type=module',
    '-e',
    source,
  ]
  const said = execFileSync('unshare', ['--user', '--map-root-user', ...limited], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  })
  expect(said).toMatch(
    /^sandbox_missing "sandbox" is "required" in the configuration, and this machine has no sandbox\. Install bubblewrap/,
  )
})
