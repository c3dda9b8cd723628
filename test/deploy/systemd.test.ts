// The units of systemd. systemd itself reads them, if it is on this machine; what it cannot know is checked
// everywhere.
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { loadConfig } from '@beaver/platform'
import { describe, expect, it } from 'vitest'
import { isCommand, isVariable, read, root } from './known-names.ts'

const names = globSync('deploy/systemd/*.service', { cwd: root }).toSorted()
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

it('are one for all processes, and one for each', () => {
  expect(names.map((name) => basename(name))).toEqual([
    'beaver-daemon@.service',
    'beaver-gateway.service',
    'beaver-projector.service',
    'beaver.service',
  ])
})

describe.each(names)('%s', (name) => {
  const text = read(name)
  const values = (key: string): string[] =>
    [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)

  it('starts a command that exists, and names variables that Beaver reads', () => {
    const [, command = ''] = /^\/usr\/local\/bin\/beaver (\w+)$/.exec(values('ExecStart')[0] ?? '') ?? []
    expect([command, isCommand(command)]).toEqual([command, true])
    const variables = values('Environment').flatMap((line) =>
      line.split(' ').map((each) => each.split('=')[0] ?? ''),
    )
    expect(variables.filter((each) => !isVariable(each))).toEqual([])
    expect(variables).toContain('BEAVER_HOME')
  })

  it('gives the process the time that its tasks may continue', () => {
    const { drain_ms: drainMs } = loadConfig({}, {}, tmpdir()).daemon
    expect(Number.parseInt(values('TimeoutStopSec')[0] ?? '', 10)).toBeGreaterThanOrEqual(
      drainMs / 1_000 + 10,
    )
  })

  it('has no key in it, and no rights that it does not need', () => {
    expect(text).not.toMatch(/sk-|_API_KEY=|PASSWORD=|TOKEN=/)
    for (const line of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'CapabilityBoundingSet='])
      expect(text.split('\n')).toContain(line)
    expect(/^(DynamicUser=yes|User=(?!root))/m.test(text)).toBe(true)
  })
})

/** What systemd says about the units. Their program is not installed here, so another stands for it. */
function verified(change: (text: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-units-'))
  try {
    const files = names.map((name) => {
      const file = join(folder, basename(name).replace('@.', '@1.'))
      writeFileSync(file, change(read(name)).replace('/usr/local/bin/beaver', '/bin/true'))
      return file
    })
    const { stdout, stderr, status } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', '--recursive-errors=no', ...files],
      { encoding: 'utf8' },
    )
    execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=45', ...files], {
      stdio: 'pipe',
    })
    return `${stdout}${stderr}${status === 0 ? '' : `exit code ${status}`}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

// Where systemd is not on the machine, it reads nothing.
it.each(hasSystemd ? ['systemd'] : [])(
  '%s finds nothing in the units, and finds a line that it does not know',
  () => {
    expect(verified((text) => text)).toBe('')
    expect(verified((text) => text.replace('PrivateTmp', 'PrivateTemp'))).toContain('PrivateTemp')
  },
)
