import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { debianUris, parseDeb822, parseOneLine } from './lib/apt-sources.mjs'
import { brokenBetweenWords } from './lib/broken-line.mjs'
import { SetupError, describeFailure, toolFailure } from './lib/failure.mjs'
import { takeLock } from './lib/lock.mjs'
import { packageManagerEnv, run } from './lib/run.mjs'
import { stampFiles, stampKey, workspacePatterns } from './lib/stamp.mjs'
import { failedFiles, totalsLine, totalsOf, withSecondTries } from './lib/totals.mjs'
import { isAtLeast, parseVersion, pnpmVersionOf } from './lib/versions.mjs'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'beaver-setup-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('a terminal gets the lines of the set-up broken between words, a pipe as they are', () => {
  const line = 'set-up: nats-server 2.15.1 from Debian forky in .beaver/tools/nats-server (14.6 s)'
  expect(brokenBetweenWords(line, { isTTY: true, columns: 80 })).toBe(
    'set-up: nats-server 2.15.1 from Debian forky in .beaver/tools/nats-server\n  (14.6 s)',
  )
  expect(brokenBetweenWords(line, {})).toBe(line)
})

describe('versions', () => {
  test('finds the version in what nats-server and node print', () => {
    expect(parseVersion('nats-server: v2.15.1\n')).toBe('2.15.1')
    expect(parseVersion('v26.10.0')).toBe('26.10.0')
    expect(parseVersion('nats-server: v2.12')).toBe('2.12.0')
    expect(parseVersion('command not found')).toBeNull()
  })

  test('compares numbers, not letters', () => {
    expect(isAtLeast('2.9.10', '2.12.0')).toBe(false)
    expect(isAtLeast('2.12.0', '2.12.0')).toBe(true)
    expect(isAtLeast('2.100.0', '2.12.0')).toBe(true)
    expect(isAtLeast('3.0.0', '2.12.0')).toBe(true)
    expect(isAtLeast('2.11.99', '2.12.0')).toBe(false)
  })

  test('takes no version for too old', () => {
    expect(isAtLeast(null, '0.0.0')).toBe(false)
  })

  test('reads the exact pnpm version and refuses anything else', () => {
    expect(pnpmVersionOf('pnpm@12.21.0')).toBe('12.21.0')
    expect(pnpmVersionOf('pnpm@12.21.0+sha512.abc')).toBe('12.21.0')
    for (const field of [undefined, 'pnpm', 'pnpm@12', 'yarn@4.1.0'])
      expect(() => pnpmVersionOf(field)).toThrow('packageManager')
  })
})

const DEB822 = `# a comment
Types: deb
# another, inside
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
 
types: deb deb-src
uris: http://a.example/debian
 http://b.example/debian
suites: bookworm
components: main contrib
signed-by:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
`

describe('apt sources', () => {
  test('reads the stanzas of a deb822 file, without the disabled ones', () => {
    const sources = parseDeb822(DEB822)
    expect(sources).toHaveLength(3)
    expect(sources[0]).toEqual({
      types: ['deb'],
      uris: ['http://mirror.example/debian'],
      suites: ['bookworm', 'bookworm-updates'],
      components: ['main'],
      signedBy: '/usr/share/keyrings/debian-archive-keyring.gpg',
    })
    expect(sources[2]?.uris).toEqual(['http://a.example/debian', 'http://b.example/debian'])
  })

  test('reads one-line entries with options, tabs and comments', () => {
    const sources = parseOneLine(
      [
        '# deb http://off.example/debian bookworm main',
        'deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]\thttp://mirror.example/debian  bookworm main contrib # why',
        'deb-src http://mirror.example/debian bookworm main',
        'deb http://flat.example/repo ./',
        'nonsense',
      ].join('\n'),
    )
    expect(sources).toEqual([
      {
        types: ['deb'],
        uris: ['http://mirror.example/debian'],
        suites: ['bookworm'],
        components: ['main', 'contrib'],
        signedBy: '/usr/share/keyrings/debian-archive-keyring.gpg',
      },
      {
        types: ['deb-src'],
        uris: ['http://mirror.example/debian'],
        suites: ['bookworm'],
        components: ['main'],
        signedBy: '',
      },
      { types: ['deb'], uris: ['http://flat.example/repo'], suites: ['./'], components: [], signedBy: '' },
    ])
  })

  test("puts Debian's own archive before a third party's, and leaves out the security archive", () => {
    const thirdParty = parseOneLine('deb http://tools.example/apt bookworm main')
    expect(debianUris([...thirdParty, ...parseDeb822(DEB822)], 'bookworm')).toEqual([
      'http://mirror.example/debian',
      'http://a.example/debian',
      'http://b.example/debian',
      'http://tools.example/apt',
    ])
  })

  test('finds nothing on a machine that is not Debian', () => {
    const ubuntu = parseOneLine(
      'deb http://mirror.example/ubuntu noble main universe\ndeb cdrom:[x]/ bookworm main',
    )
    expect(debianUris(ubuntu, 'bookworm')).toEqual([])
    expect(
      debianUris(parseOneLine('deb-src http://mirror.example/debian bookworm main'), 'bookworm'),
    ).toEqual([])
  })
})

describe('stamp', () => {
  const files = [
    ['a', '1'],
    ['b', '2'],
  ] as const
  const base = { files, platform: 'linux-x64', root: '/project' }

  test('does not depend on the order of the files', () => {
    expect(stampKey({ ...base, files: [files[1], files[0]] })).toBe(stampKey(base))
  })

  test('changes with a content, a name, the platform and the place', () => {
    const others = [
      { ...base, files: [files[0], ['b', '3']] as const },
      { ...base, files: [files[0], ['c', '2']] as const },
      { ...base, files: [files[0]] },
      { ...base, files: [['a', '1b2']] as const },
      { ...base, platform: 'linux-arm64' },
      { ...base, root: '/elsewhere' },
    ]
    expect(new Set([base, ...others].map(stampKey)).size).toBe(others.length + 1)
  })

  test("reads the list of the workspace's packages and nothing below it", () => {
    expect(
      workspacePatterns("packages:\n  - packages/*\n  # why\n  - 'apps/*' # here\ncatalog:\n  - no\n"),
    ).toEqual(['packages/*', 'apps/*'])
    expect(workspacePatterns('packages:\n- a')).toEqual(['a'])
    expect(workspacePatterns('catalog:\n  zod: 1.0.0\n')).toEqual([])
  })

  test('covers the package.json of every workspace package', () => {
    writeFileSync(join(dir, 'package.json'), '{}')
    writeFileSync(join(dir, 'pnpm-workspace.yaml'), 'packages:\n  - packages/*\n  - missing/*\n')
    for (const name of ['b', 'a', 'without']) mkdirSync(join(dir, 'packages', name), { recursive: true })
    for (const name of ['b', 'a']) writeFileSync(join(dir, 'packages', name, 'package.json'), name)
    expect(stampFiles(dir).map(([name]) => name)).toEqual([
      'package.json',
      'pnpm-workspace.yaml',
      'packages/a/package.json',
      'packages/b/package.json',
    ])
  })
})

describe('totals', () => {
  const report = {
    numPassedTests: 3,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
    testResults: [],
  }

  test('names skipped tests only when there are any', () => {
    expect(totalsLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed')
    expect(totalsLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped')
  })

  test('counts what vitest reports', () => {
    expect(totalsOf({ ...report, numFailedTests: 2, numPendingTests: 1, numTodoTests: 1 }, false)).toEqual({
      passed: 3,
      failed: 2,
      skipped: 2,
    })
    expect(totalsOf(report, true)).toEqual({ passed: 3, failed: 0, skipped: 0 })
  })

  test('counts a file that could not be loaded as one failure', () => {
    const testResults = [
      { status: 'failed', assertionResults: [] },
      { status: 'failed', assertionResults: [{ status: 'failed' }] },
      { status: 'passed', assertionResults: [{ status: 'passed' }] },
    ]
    expect(totalsOf({ ...report, numFailedTests: 1, testResults }, false).failed).toBe(2)
  })

  test('counts one failure when vitest failed, crashed, or ran nothing', () => {
    expect(totalsOf(report, false).failed).toBe(1)
    expect(totalsOf(null, false)).toEqual({ passed: 0, failed: 1, skipped: 0 })
    expect(totalsOf({ ...report, numPassedTests: 0, numPendingTests: 4 }, true).failed).toBe(1)
  })
})

describe('a second try', () => {
  const file = (name: string, ...statuses: readonly string[]) => ({
    name,
    status: statuses.includes('failed') ? 'failed' : 'passed',
    assertionResults: statuses.map((status) => ({ status })),
  })
  const report = (...testResults: readonly ReturnType<typeof file>[]) => ({
    numPassedTests: 0,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
    testResults,
  })
  const first = report(file('a', 'passed', 'failed'), file('b', 'passed', 'pending'), file('c', 'failed'))

  test('is for the files that failed', () => {
    expect(failedFiles(first)).toEqual(['a', 'c'])
    expect(failedFiles(null)).toEqual([])
  })

  test('counts in place of the first', () => {
    const both = withSecondTries(first, [report(file('a', 'passed', 'passed')), report(file('c', 'failed'))])
    expect(totalsOf(both, false)).toEqual({ passed: 3, failed: 1, skipped: 1 })
    expect(failedFiles(both)).toEqual(['c'])
  })

  test('that wrote no report leaves the first as it is', () => {
    expect(totalsOf(withSecondTries(first, [null]), false)).toEqual({ passed: 2, failed: 2, skipped: 1 })
  })
})

describe('failures', () => {
  const result = { code: 1, output: '', missing: false, timedOut: false }

  test('are one sentence with the last lines of the tool below it', () => {
    const output = `${Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n')}\n\n`
    const lines = describeFailure(new SetupError('it broke; mend it.', output)).split('\n')
    expect(lines[0]).toBe('set-up failed: it broke; mend it.')
    expect(lines.slice(1)).toEqual(Array.from({ length: 12 }, (_, i) => `  line ${i + 28}`))
  })

  test('say what to do about the network, the disk and a missing program', () => {
    expect(toolFailure('x', { ...result, output: 'npm error code ENOTFOUND' }).message).toContain(
      'could not reach the network',
    )
    expect(toolFailure('x', { ...result, output: 'write: No space left on device' }).message).toContain(
      'disk space',
    )
    expect(toolFailure('x', { ...result, code: null, missing: true }).message).toContain('not found on PATH')
    expect(toolFailure('x', { ...result, output: 'segfault' }).message).toBe(
      'x failed (exit code 1); see its last lines below and try again.',
    )
  })

  test('show no stack for what nobody foresaw', () => {
    expect(describeFailure(new TypeError('odd'))).toBe('set-up failed: odd.')
    expect(describeFailure(Object.assign(new Error('write'), { code: 'ENOSPC' }))).toContain(
      'the disk is full',
    )
  })
})

describe('the environment of npm and pnpm', () => {
  test("keeps the user's registry, proxy and certificates and drops what npm run adds", () => {
    const env = {
      PATH: '/bin',
      HTTPS_PROXY: 'http://proxy.example',
      npm_config_registry: 'http://registry.example',
      'npm_config_@scope:registry': 'http://scope.example',
      npm_config_cafile: '/ca.pem',
      NPM_CONFIG_STRICT_SSL: 'false',
      npm_config_userconfig: '/home/me/.npmrc',
    }
    const added = {
      npm_config_prefix: '/usr',
      npm_config_noproxy: '',
      npm_config_dry_run: 'true',
      npm_config_user_agent: 'npm/11',
      npm_package_name: 'beaver',
      npm_lifecycle_event: 'start',
      npm_command: 'start',
      NODE_ENV: 'production',
      INIT_CWD: '/x',
    }
    expect(packageManagerEnv({ ...env, ...added })).toEqual(env)
  })
})

describe('lock', () => {
  const options = (signal = new AbortController().signal, onWait: (pid: number) => void = () => {}) => ({
    signal,
    onWait,
  })

  test('is held by one at a time, and the second says for whom it waits', async () => {
    const path = join(dir, 'lock')
    const first = await takeLock(path, options())
    const waited: number[] = []
    let held = false
    const second = takeLock(
      path,
      options(undefined, (pid) => waited.push(pid) && first.release()),
    ).then((lock) => {
      held = true
      return lock
    })
    expect(held).toBe(false)
    ;(await second).release()
    expect(waited).toEqual([process.pid])
    expect(readdirSync(dir)).toEqual([])
  })

  test('is taken over when its owner has ended, though its number lives on', async () => {
    const path = join(dir, 'lock')
    mkdirSync(path)
    writeFileSync(join(path, `owner-${process.pid}`), 'another start time')
    mkdirSync(`${path}.999999999`)
    const lock = await takeLock(path, options())
    expect(readdirSync(dir)).toEqual(['lock'])
    lock.release()
  })

  test('is not stale while a program that a dead owner started still runs', async () => {
    const path = join(dir, 'lock')
    const first = await takeLock(path, options())
    rmSync(join(path, `owner-${process.pid}`))
    const stop = new AbortController()
    first.addChild(process.pid)
    const reason = new Error('enough')
    await expect(
      takeLock(
        path,
        options(stop.signal, () => stop.abort(reason)),
      ),
    ).rejects.toThrow()
    expect(readdirSync(path)).toEqual([`child-${process.pid}`])
  })
})

describe('running a tool', () => {
  const signal = () => new AbortController().signal

  test('returns a failing tool with its output from both streams', async () => {
    const result = await run('sh', ['-c', 'echo out; echo err >&2; exit 3'], {
      cwd: dir,
      signal: signal(),
      timeoutMs: 10_000,
    })
    expect(result).toMatchObject({ code: 3, missing: false, timedOut: false })
    expect(result.output.split('\n').sort()).toEqual(['', 'err', 'out'])
  })

  test('returns a missing tool as missing', async () => {
    expect(
      await run('no-such-tool-here', [], { cwd: dir, signal: signal(), timeoutMs: 10_000 }),
    ).toMatchObject({ missing: true, code: null })
  })

  test('ends a tool and its children when aborted, and throws the reason', async () => {
    const stop = new AbortController()
    const running = run('sh', ['-c', 'sleep 60 & wait'], {
      cwd: dir,
      signal: stop.signal,
      timeoutMs: 60_000,
      onStart: () => stop.abort(new Error('enough')),
    })
    await expect(running).rejects.toThrow('enough')
  })

  test('ends a tool that takes too long', async () => {
    expect(await run('sleep', ['60'], { cwd: dir, signal: signal(), timeoutMs: 50 })).toMatchObject({
      timedOut: true,
    })
  })
})
