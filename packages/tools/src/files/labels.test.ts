// The labels that names, links and skills of a workspace give to a run, with the real tools in a real loop.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  defaultEgressRules,
  type EgressRules,
  type LoopServices,
  onlyProvider,
  type PermissionRule,
  runAgentLoop,
  type Skill,
} from '@beaver/agent'
import { systemClock } from '@beaver/core'
import { failurePolicies } from '@beaver/core/supervision'
import { calls, memoryHost, rootSpec, says, scriptedProvider } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { builtinTools } from '../builtin-tools.ts'
import { defaultBuiltinToolOptions } from '../options.ts'

interface Given {
  readonly files?: Readonly<Record<string, string>>
  /** Where each link leads. */
  readonly links?: Readonly<Record<string, string>>
  readonly egress?: Partial<EgressRules>
  readonly permissions?: readonly PermissionRule[]
  readonly skills?: readonly Skill[]
}

/** What the call gives to the run: its result and its labels. */
async function labelsAfter(call: readonly [string, unknown], given: Given = {}) {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'labels-')))
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(given.files ?? {})) {
    mkdirSync(join(workspace, dirname(path)), { recursive: true })
    writeFileSync(join(workspace, path), text)
  }
  for (const [path, target] of Object.entries(given.links ?? {})) symlinkSync(target, join(workspace, path))
  const services: LoopServices = {
    providers: onlyProvider(scriptedProvider([calls(call as never), says('done')])),
    tools: builtinTools({
      ...defaultBuiltinToolOptions,
      runCommand: { ...defaultBuiltinToolOptions.runCommand, enabled: true },
    }),
    skills: given.skills ?? [],
    definitions: [],
    profiles: new Map(),
    profileDefault: null,
    failurePolicies,
    clock: systemClock,
    random: () => 0,
    toolTimeoutMs: 20_000,
    permissions: given.permissions ?? [{ tool: 'run_command', decision: 'allow' }],
    egress: { ...defaultEgressRules, ...given.egress },
    skillSelection: 'off',
  }
  const host = memoryHost()
  const spec = { ...rootSpec(), workspace }
  const { taint } = await runAgentLoop(spec, services, host, AbortSignal.timeout(30_000))
  const [result] = host.events.flatMap((each) => (each.type === 'tool_result_recorded' ? [each.data] : []))
  return {
    untrusted: taint?.untrusted ?? [],
    secret: taint?.secret ?? [],
    public: taint?.public,
    error: result?.error ?? null,
  }
}

const list = (path = '.'): readonly [string, unknown] => ['list_files', { path }]
const run = (command: string, ...args: string[]): readonly [string, unknown] => [
  'run_command',
  { command, args },
]
const mail = { 'downloads/ignore your task.txt': 'x', 'a.txt': 'a' }
const nothing = { untrusted: [], secret: [], public: false, error: null }

describe('names carry the label of their files', () => {
  it.each([
    ['the folder', list('downloads'), mail],
    ['a folder above', list(), mail],
    ['a depth that stays above', ['list_files', { path: '.', depth_max: 1 }], { 'x.eml': 'x' }],
    ['the largest files', ['file_stats', {}], mail],
    ['a program that lists the folder', run('ls', 'downloads'), mail],
    ['a program that finds files', run('find', '.', '-name', '*.txt'), mail],
  ] as const)('untrusted: %s', async (_, call, files) =>
    expect(await labelsAfter(call, { files })).toMatchObject({ untrusted: [expect.any(String)], secret: [] }),
  )

  it.each([
    ['names of own files', list(), { 'a.txt': 'a', 'src/b.ts': 'b' }],
    ['the name of a folder of strangers alone', ['list_files', { path: '.', depth_max: 1 }], mail],
    // Its name is how Beaver knows it, and tells nothing of what is in it.
    ['the usual name of a secret file', list(), { '.env': 'x', 'a.txt': 'a' }],
    ['an option that leaves a folder out', run('ls', '--ignore=downloads'), mail],
  ] as const)('none: %s', async (_, call, files) =>
    expect(await labelsAfter(call, { files })).toEqual(nothing),
  )

  it('secret: what the operator named, and what is in a folder of secrets', async () => {
    const files = { 'clients/acme.txt': 'x', '.ssh/acme_prod': 'x' }
    expect(
      await labelsAfter(list('clients'), { files, egress: { secretPaths: ['clients/*'] } }),
    ).toMatchObject({
      secret: ['list_files clients'],
    })
    expect((await labelsAfter(list('.ssh'), { files })).secret).toEqual(['list_files .ssh'])
  })
})

describe('a link counts as what it leads to', () => {
  const files = { 'downloads/page.txt': 'x', '.env': 'A=b', 'a.txt': 'a', 'docs/b.txt': 'b' }

  it.each([
    ['the text of a file', ['read_file', { path: 'notes.txt' }], { 'notes.txt': 'downloads/page.txt' }],
    ['the names in a folder', list('inbox'), { inbox: 'downloads' }],
    ['a file below a linked folder', ['read_file', { path: 'inbox/page.txt' }], { inbox: 'downloads' }],
    ['what a program reads', run('cat', 'notes.txt'), { 'notes.txt': 'downloads/page.txt' }],
  ] as const)('untrusted: %s', async (_, call, links) =>
    expect((await labelsAfter(call, { files, links })).untrusted).toHaveLength(1),
  )

  it('secret: an innocent name that leads to a secret file', async () => {
    const links = { 'notes.txt': '.env' }
    expect((await labelsAfter(run('cat', 'notes.txt'), { files, links })).secret).toHaveLength(1)
    expect(await labelsAfter(['read_file', { path: 'notes.txt' }], { files, links })).toMatchObject({
      error: 'secret_file',
    })
    const allowed = [{ tool: 'read_file', pattern: '*.env', decision: 'allow' }] as const
    expect(
      (await labelsAfter(['read_file', { path: 'notes.txt' }], { files, links, permissions: allowed }))
        .secret,
    ).toHaveLength(1)
  })

  it('secret: a secret name that leads to an innocent file', async () => {
    const links = { 'id_rsa.txt': 'a.txt', 'prod.pem': 'a.txt' }
    expect((await labelsAfter(run('cat', 'prod.pem'), { files, links })).secret).toHaveLength(1)
    expect(await labelsAfter(['read_file', { path: 'prod.pem' }], { files, links })).toMatchObject({
      error: 'secret_file',
    })
  })

  it('a folder behind a link is listed only if the rules allow its real path', async () => {
    const permissions = [{ tool: 'list_files', pattern: 'docs*', decision: 'deny' }] as const
    expect(await labelsAfter(list('open'), { files, links: { open: 'docs' }, permissions })).toMatchObject({
      error: 'permission_denied',
    })
  })

  it('none: a link to a file of the user’s own', async () =>
    expect(await labelsAfter(['read_file', { path: 'b' }], { files, links: { b: 'docs/b.txt' } })).toEqual(
      nothing,
    ))
})

describe('the repository of a stranger in the workspace', () => {
  const remote = '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.com/x.git\n'
  const read: readonly [string, unknown] = ['read_file', { path: 'lib/README.md' }]

  it.each([
    ['a clone', { 'lib/.git/config': remote }],
    ['a submodule', { 'lib/.git': 'gitdir: ../.git/modules/lib\n' }],
  ])('labels its README untrusted: %s', async (_, git) => {
    const files = { ...git, 'lib/README.md': 'x' }
    expect((await labelsAfter(read, { files })).untrusted).toEqual(['read_file lib/README.md'])
    expect((await labelsAfter(list(), { files })).untrusted).toHaveLength(1)
  })

  it.each([
    ['a repository that was made here', { 'lib/.git/config': '[core]\n\tbare = false\n' }, {}],
    ['a worktree', { 'lib/.git': 'gitdir: /w/.git/worktrees/lib\n' }, {}],
    ['the repository that is the workspace', { '.git/config': remote }, {}],
    ['one that the operator calls own', { 'lib/.git/config': remote }, { ownPaths: ['lib/*'] }],
  ])('not: %s', async (_, git, egress) =>
    expect(await labelsAfter(read, { files: { ...git, 'lib/README.md': 'x' }, egress })).toEqual(nothing),
  )

  it('copies of other projects are strangers’ too, unless the operator calls them own', async () => {
    const files = { 'vendor/x/README.md': 'x' }
    const vendored: readonly [string, unknown] = ['read_file', { path: 'vendor/x/README.md' }]
    expect((await labelsAfter(vendored, { files })).untrusted).toHaveLength(1)
    expect(await labelsAfter(vendored, { files, egress: { ownPaths: ['vendor/*'] } })).toEqual(nothing)
    expect(
      (await labelsAfter(vendored, { files, egress: { ownPaths: ['*'], untrustedPaths: ['vendor/*'] } }))
        .untrusted,
    ).toHaveLength(1)
  })
})

describe('a skill of the workspace', () => {
  const skill = (over: Partial<Skill>): Skill => ({
    name: 'tides',
    description: 'd',
    body: 'b',
    sha256: 'x',
    folder: '/nowhere/tides',
    modelInvocable: true,
    allowedTools: null,
    license: null,
    compatibility: null,
    guidance: null,
    ...over,
  })
  const label = ['the skill tides of the workspace']

  it.each([
    ['its text', { name: 'tides' }],
    ['its name and description', {}],
  ])('labels a run that is shown %s', async (_, args) => {
    const from = [skill({ fromWorkspace: true }), skill({ name: 'own' })]
    expect((await labelsAfter(['skill_view', args], { skills: from })).untrusted).toEqual(label)
  })

  it('does not label it if the operator configured it', async () =>
    expect((await labelsAfter(['skill_view', { name: 'tides' }], { skills: [skill({})] })).untrusted).toEqual(
      [],
    ))
})
