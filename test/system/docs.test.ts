// Pages and doc comments, held to what is. Every public export of the packages that programs import has a doc
// comment, and every example in one compiles and gives what it says. docs/how-to/embed.md and
// docs/explanation/coming-from.md show programs that compile and run, and docs/reference/agent-service.md the
// options of a service. The program of docs/how-to/verify-without-beaver.md is run as it is on the page: on honest exports and on changed ones.
// All examples are one program. They run in one process, beside planted ones that are wrong; the programs of
// the two pages run there after them, too. The screens of the README and the tutorial are taken meanwhile.
import { execFile, fork, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { homeKeys, importedByUsers, publishedName } from '@beaver/platform'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { type PageWithScreens, takeScreens } from '../../scripts/lib/screens.ts'
import { exampleModule, type Names } from '../docs/example-module.ts'
import { tableRows } from '../docs/markdown.ts'
import {
  type Example,
  examplesIn,
  importableNames,
  type PublicExport,
  publicExports,
} from '../docs/public-exports.ts'
import { typeFaults } from '../docs/type-faults.ts'
import { type AuditedSystem, auditedSystem } from '../support/audited-system.ts'
import { compileCache } from '../support/compile-cache.ts'
import { parsed, resealed, written as linesOf } from '../support/recorded-journal.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const folders = ['core', 'evidence', 'workflows', 'team-patterns', 'agent', 'client', 'service', 'ai-sdk']
const exported = publicExports(folders)

/** Examples that are wrong, with the beginning of the finding that each must give. */
const planted: readonly (readonly [code: string, finding: RegExp])[] = [
  ['estimateTokens(4) // => 1', /^1 TS2345: /],
  ['const four = 4\nestimateTokens(four) // => 1', /^2 TS2345: /],
  [`estimateTokens('four') // => 2`, /^It gives 1, not 2\.$/],
  [`const tokens = estimateTokens('four') // => 2`, /^It gives 1, not 2\.$/],
  [`taskId('task_1') // throws not_found`, /^It throws /],
  [`estimateTokens('four') // throws not_found`, /^It throws nothing, not not_found\.$/],
  [`estimateTokens('four') // 1`, /^It claims nothing/],
  ['// => 1', /^The claim in its line 1 belongs to no statement\.$/],
  [`const { length } = 'four' // => 4`, /^A result can belong to /],
  [
    `if (estimateTokens('four') === 2) estimateTokens('four') // => 1`,
    /^1 of its results were not reached\.$/,
  ],
  [`throw new BeaverError('internal', 'unexpected')\n1 // => 1`, /^unexpected$/],
]

interface Case {
  readonly title: string
  readonly from: string
  readonly example: Example
}

const cases: readonly Case[] = exported.flatMap(({ name, from, path, examples }) =>
  examples.map((example) => ({ title: `${path}:${example.line} ${name}`, from, example })),
)
const plantedCases: readonly Case[] = planted.map(([code]) => ({
  title: `planted ${code}`,
  from: '@beaver/core',
  example: { code, line: 1 },
}))
const findings = new Map<string, string[]>()
const tell = (title: string, finding: string): void =>
  void findings.set(title, [...(findings.get(title) ?? []), finding])

/** The programs that run, by their pages: in the blocks `ts`, each above the block with what it prints. */
const programsOf: Readonly<Record<string, readonly string[]>> = {
  'docs/how-to/embed.md': ['first', 'running', 'typed', 'teams', 'watched', 'own-model', 'ai-sdk'],
  'docs/explanation/coming-from.md': ['durable-steps', 'two-agents', 'one-tool'],
}
/** Each with what it printed. */
const programs = new Map(
  Object.values(programsOf)
    .flat()
    .map((name) => [`${root}test/docs/embedding/${name}.ts`, { name, printed: '' }]),
)

/** One hook runs some 300 modules, nine of which start systems. */
const allMsMax = 480_000

let folder: string
let pages: Promise<PageWithScreens[]>
beforeAll(async () => {
  pages = takeScreens()
  mkdirSync(join(root, '.beaver', 'tmp'), { recursive: true })
  // Inside the repository, so that the packages are found.
  folder = mkdtempSync(join(root, '.beaver', 'tmp', 'examples-'))
  const files = new Map([...cases, ...plantedCases].flatMap((each, index) => written(each, index)))
  // The test of the screens tells why they were not taken.
  const taken = pages.catch(() => {})
  await Promise.all([compile(files), runAll(files), taken])
}, allMsMax)
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Writes the module of an example. */
function written(each: Case, index: number): (readonly [file: string, Case])[] {
  try {
    const file = join(folder, `example-${index}.ts`)
    writeFileSync(file, exampleModule(each.example.code, namesFor(each.from)))
    return [[file, each]]
  } catch (error) {
    tell(each.title, (error as Error).message)
    return []
  }
}

function namesFor(from: string): Names {
  return {
    entries: importableNames(from.split('/')[1] ?? ''),
    context: {
      from: '../../../test/docs/example-context.ts',
      values: new Set([
        'beaver',
        'blobs',
        'caller',
        'events',
        'graph',
        'journal',
        'keyPorts',
        'log',
        'nc',
        'run',
        'session_id',
        'signingKey',
        'systemLog',
        'task_id',
      ]),
    },
    checks: '../../../test/docs/example-checks.ts',
  }
}

async function compile(files: ReadonlyMap<string, Case>): Promise<void> {
  const config = {
    extends: join(root, 'tsconfig.test.json'),
    compilerOptions: { rootDir: root },
    include: [],
    files: [...files.keys()],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  for (const { file, line, message } of await typeFaults(join(folder, 'tsconfig.json'), [...files.keys()]))
    tell(files.get(file)?.title ?? file, `${line - 1} ${message}`)
}

/** Resolves when the process has run everything and has ended by itself. */
function runAll(files: ReadonlyMap<string, Case>): Promise<void> {
  const cwd = join(folder, 'workspace')
  cpSync(join(root, 'test/docs/example-workspace'), cwd, { recursive: true })
  const env = { PATH: process.env['PATH'], ...compileCache }
  const child = fork(join(root, 'test/docs/run-examples.ts'), [], {
    cwd,
    env,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  // The examples of the service start systems of their own.
  const own = [...files].flatMap(([file, { from }]) => (from === '@beaver/service' ? [file] : []))
  child.send({
    inContext: [...files.keys()].filter((file) => !own.includes(file)),
    alone: [...own, ...programs.keys()],
  })
  const titleOf = (file: string): string => files.get(file)?.title ?? file
  const waiting = new Set([...files.keys(), ...programs.keys()])
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  child.on('message', ({ file, fault, printed }: { file: string; fault: string | null; printed: string }) => {
    waiting.delete(file)
    if (fault !== null) tell(titleOf(file), fault)
    const program = programs.get(file)
    if (program !== undefined) program.printed = printed
  })
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      const [next] = waiting
      if (next !== undefined || code !== 0)
        tell(
          'the process',
          `It ended with ${code}${next === undefined ? '' : ` before ${titleOf(next)}`}: ${stderr}`,
        )
      resolve()
    })
  })
}

describe('a public export', () => {
  const placed = ({ path, line, name }: PublicExport): string => `${path}:${line} ${name}`

  it('was found, of every kind', () => {
    for (const kind of ['function', 'class', 'constant', 'type', 'inferred'])
      expect(exported.filter((each) => each.kind === kind).length).toBeGreaterThan(5)
  })

  it('has a doc comment', () => {
    expect(
      exported.filter(({ kind, doc }) => kind !== 'inferred' && /^(?:@|$)/.test(doc)).map(placed),
    ).toEqual([])
  })

  it('that can be called has one example', () => {
    const called = exported.filter(({ kind }) => kind === 'function' || kind === 'class')
    expect(called.filter(({ doc }) => doc.match(/^@example/gm)?.length !== 1).map(placed)).toEqual([])
  })

  it('has all the examples of its package: no other one would run', () => {
    const idle = globSync(`packages/{${folders.join(',')}}/src/**/*.ts`, { cwd: root }).flatMap((path) => {
      const run = cases.filter(({ title }) => title.startsWith(`${path}:`)).length
      return examplesIn(read(path)).length > run
        ? `${path} has examples of what it does not export: state the result in words`
        : []
    })
    expect(idle).toEqual([])
  })
})

describe('an example', () => {
  it('compiles, and gives what it says', () => {
    expect(
      [...findings]
        .filter(([title]) => !title.startsWith('planted'))
        .map(([title, each]) => `${title}: ${each.join('; ')}`),
    ).toEqual([])
  })

  it.each(planted)('that is wrong is a finding: %s', (code, finding) => {
    expect((findings.get(`planted ${code}`) ?? []).filter((each) => finding.test(each))).toHaveLength(1)
  })
})

it('a screen of the README and the tutorial shows what its command shows now', async () => {
  const drifted = (await pages).flatMap((page) => page.drifted)
  expect(drifted, 'Run "pnpm docs:screens", read what changed, and commit it.').toEqual([])
})

describe('a package', () => {
  const read = (sources: Readonly<Record<string, string>>) => (path: string) =>
    path === 'packages/x/package.json'
      ? '{ "exports": { ".": "./src/index.ts" } }'
      : (sources[path.replace('packages/x/src/', '')] ?? '')
  const found = (sources: Readonly<Record<string, string>>) =>
    publicExports(['x'], read(sources)).map(({ name, kind, doc, examples }) => [
      name,
      kind,
      doc,
      examples.length,
    ])

  it('is read through its re-exports, with the comment right above a declaration', () => {
    const sources = {
      'index.ts': `export { a, b as c } from './a.ts'\nexport { z } from 'zod'`,
      'a.ts': `/** Not of a. */\n\n/** One. */\nexport const a = (): number => 1\n/** Lost. */\nconst x = 1\nexport { b } from './b.ts'`,
      'b.ts': `/**\n * Two.\n *\n * @example b // => 2\n */\nexport class b {\n  /** @example 1 // => 1 */\n  m() {}\n}`,
    }
    expect(found(sources)).toEqual([
      ['a', 'function', 'One.', 0],
      ['b', 'class', 'Two.\n\n@example b // => 2', 2],
    ])
  })
})

describe.each(Object.entries(programsOf))('%s', (page, names) => {
  // A block of another system has the language `typescript`: it is not ours, and does not run.
  const blocks = [...read(page).matchAll(/^(`{3,})(ts|text)\n([\s\S]*?)^\1$/gm)].map(
    ([, , language = '', content = '']) => ({
      language,
      content,
    }),
  )
  const sourceOf = (name: string): string => read(`test/docs/embedding/${name}.ts`)

  it('shows the programs that are compiled, as they are', () => {
    const only = page.endsWith('embed.md') ? ['interrupted'] : []
    expect(blocks.flatMap(({ language, content }) => (language === 'ts' ? [content] : []))).toEqual(
      [...names, ...only].map(sourceOf),
    )
  })

  test.each(names)('its program %s prints what the page says, and ends', (name) => {
    const at = blocks.findIndex(({ content }) => content === sourceOf(name))
    expect(programs.get(`${root}test/docs/embedding/${name}.ts`)?.printed).toBe(blocks[at + 1]?.content)
  })
})

describe('the first screens', () => {
  const blockIn = (page: string, language: string): readonly string[] =>
    [...read(page).matchAll(/^(`{3,})(\w+)\n([^]*?)^\1$/gm)].flatMap(([, , found, content = '']) =>
      found === language ? [content] : [],
    )

  /** With the modules that a user of the package imports. */
  const asInstalled = (text: string): string =>
    Object.entries(importedByUsers)
      .toSorted(([a], [b]) => b.length - a.length)
      .reduce((before, [module, path]) => before.replaceAll(module, publishedName + path), text)

  it('of the README are the project of "beaver init", and what its program prints', async () => {
    const files = ['tools.ts', 'program.ts'].map((file) => asInstalled(read(`templates/init/${file}`)))
    expect(blockIn('README.md', 'ts')).toEqual(files)
    const { stdout } = await promisify(execFile)(process.execPath, ['program.ts'], {
      cwd: join(root, 'templates/init'),
      env: { PATH: process.env['PATH'], BEAVER_HOME: join(folder, 'my-team'), ...compileCache },
    })
    expect(stdout).toBe(blockIn('README.md', 'text')[0])
  })

  it('of the tutorial are what its last page writes and prints', () => {
    const last = read('docs/tutorial/4-first-program.md')
    for (const language of ['ts', 'text'])
      for (const block of blockIn('docs/tutorial/README.md', language)) expect(last).toContain(block)
  })
})

describe('docs/reference/agent-service.md', () => {
  it('lists the options of a service, each once', () => {
    const [, body = ''] =
      /export interface AgentServiceOptions \{([\s\S]*?)^\}/m.exec(read('packages/service/src/options.ts')) ??
      []
    const options = [...body.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, name = '']) => name)
    const rows = tableRows(read('docs/reference/agent-service.md'), ['option', ''])
    const listed = rows.flatMap((row) =>
      [...(row['option'] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    )
    expect(options.length).toBeGreaterThan(10)
    expect(listed.toSorted()).toEqual(options.toSorted())
  })
})

describe('docs/how-to/verify-without-beaver.md', () => {
  let at: AuditedSystem
  /** Of Python. */
  let interpreter: string
  /** The thirty lines for a whole journal. */
  let thirty: string
  /** The same with the lines for parts, blobs and kept checkpoints. */
  let program: string
  /** The program with the lines that verify who wrote each message. */
  let signing: string
  let whole: string[]
  let part: string[]
  beforeAll(async () => {
    const installed = (tool: string, ...args: readonly string[]): string => {
      const { status, stdout } = spawnSync(tool, args, { encoding: 'utf8' })
      if (status !== 0)
        throw new Error(
          `${tool} is not installed, so the program of verify-without-beaver.md cannot be tested. Install it.`,
        )
      return stdout.trim()
    }
    // `python3` may be a script that looks for the interpreter, which takes longer than a program of thirty
    // lines.
    interpreter = installed('python3', '-c', 'import sys; print(sys.executable)')
    installed('openssl', 'version')
    at = await auditedSystem()
    await at.work('loop', 'talk')
    whole = await exported()
    part = await exported('loop')
    const page = read('docs/how-to/verify-without-beaver.md')
    program = join(at.system.workspace, 'verify.py')
    const [first = '', parts = '', second = ''] = [...page.matchAll(/```python\n([^]*?)```/g)].map(
      ([, text = '']) => text,
    )
    const place = first.split('\n').filter((line) => line.startsWith('need(int(size) <= '))
    expect(place).toHaveLength(1)
    const forParts = first.replace(`${place[0]}\n`, () => parts)
    expect(first.split('\n').filter((line) => line.trim() !== '')).toHaveLength(30)
    thirty = join(at.system.workspace, 'thirty.py')
    await writeFile(thirty, first)
    await writeFile(program, forParts)
    signing = join(at.system.workspace, 'verify-signatures.py')
    await writeFile(signing, forParts + second)
  })
  afterAll(() => at[Symbol.asyncDispose]())

  async function exported(...tasks: string[]): Promise<string[]> {
    const { exit, out, err } = await at.beaver('audit', 'export', ...tasks)
    if (exit !== 0) throw new Error(err)
    return out.trimEnd().split('\n')
  }

  const valueOf = (lines: readonly string[], name: string): string =>
    String(
      (lines.map((line) => JSON.parse(line) as Record<string, unknown>).find((line) => name in line) ?? {})[
        name
      ],
    )

  const verified = (lines: readonly string[], ...args: string[]): Promise<Said> =>
    python(program, lines, ...args)

  interface Said {
    readonly exit: number | null
    readonly says: string
  }

  async function python(which: string, lines: readonly string[], ...args: string[]): Promise<Said> {
    const { status, stdout, stderr } = spawnSync(
      interpreter,
      [which, await at.file('given.ndjson', lines), ...args],
      { encoding: 'utf8' },
    )
    return { exit: status, says: (stdout + stderr).trim() }
  }

  it('verifies an honest export, whole and in part, with the key and a kept checkpoint', async () => {
    const kept = await at.file('kept.txt', [valueOf(whole, 'checkpoint').trimEnd()])
    for (const args of [[], [valueOf(whole, 'key')], [valueOf(whole, 'key'), kept]])
      expect(await verified(whole, ...args)).toEqual({
        exit: 0,
        says: expect.stringMatching(/^verified: \d+ messages, \d+ logs/) as string,
      })
    expect(await verified(part, valueOf(whole, 'key'))).toEqual({
      exit: 0,
      says: expect.stringMatching(/^verified: \d+ messages, \d+ logs/) as string,
    })
  })

  it('needs thirty lines for a whole journal, and they refuse a part and every change', async () => {
    expect(await python(thirty, whole, valueOf(whole, 'key'))).toEqual({
      exit: 0,
      says: expect.stringMatching(/^verified: \d+ messages, \d+ logs/) as string,
    })
    expect(await python(thirty, part)).toEqual({
      exit: 1,
      says: 'NOT VERIFIED: the messages are not those of a checkpoint',
    })
    const messages = whole.filter((line) => line.startsWith('{"seq":'))
    const attacks: string[][] = [
      whole.map((line) => line.replace('answer to loop', 'forged')),
      ...[messages[0], messages[1], messages.at(-3)].map((left) => whole.filter((line) => line !== left)),
      whole.map((line) =>
        line === messages[2]
          ? (messages[3] as string)
          : line === messages[3]
            ? (messages[2] as string)
            : line,
      ),
      whole.map((line) =>
        line.startsWith('{"checkpoint":') ? line.replace(/\\n(\d+)\\n/, '\\n1\\n') : line,
      ),
      whole.map((line) => line.replace(/"created":"[^"]+"/, '"created":"2020-01-01T00:00:00Z"')),
    ]
    for (const lines of attacks)
      expect(await python(thirty, lines)).toEqual({
        exit: 1,
        says: expect.stringContaining('NOT VERIFIED: ') as string,
      })
  })

  it('verifies who wrote each message, whole and in part, and refuses what nobody trusted wrote', async () => {
    const keys = homeKeys(at.keysFolder)
    const says = expect.stringMatching(
      new RegExp(
        `^verified: .*\nsigned: \\d+ messages, by keys that the operator ${keys.makeOperator().id} trusts$`,
      ),
    ) as string
    for (const lines of [whole, part]) expect(await python(signing, lines)).toEqual({ exit: 0, says })
    const header = /"signature":"([^"]*)",/
    const ofTask = (line: string): boolean => line.includes('.log.') && header.test(line)
    const other = header.exec(part.findLast(ofTask) ?? '')?.[0] ?? ''
    const [one] = part.filter(ofTask)
    const attacks: [string, string][] = [
      ['', 'is not signed by a key of the role daemon'],
      [other, 'is wrong'],
      [
        header.exec(part.find((line) => line.includes('.system.')) ?? '')?.[0] ?? '',
        'is not signed by a key of the role daemon',
      ],
    ]
    for (const [signature, why] of attacks)
      expect(await python(signing, part.map((line) => (line === one ? line.replace(header, signature) : line)))).toEqual({ exit: 1, says: expect.stringContaining(why) as string }) // prettier-ignore
    const noKeys = part.filter((line) => !line.includes('.system.'))
    const heads = noKeys.filter((line) => !line.startsWith('{"heads":'))
    expect((await python(signing, heads)).exit).toBe(1)
  })

  it('refuses a changed export, and says why', async () => {
    const messagesOf = (lines: readonly string[]): string[] =>
      lines.filter((line) => line.startsWith('{"seq":'))
    const without = (lines: readonly string[], line: string | undefined): string[] =>
      lines.filter((each) => each !== line)
    const edit = (lines: readonly string[]): string[] =>
      lines.map((line) => line.replace('answer to loop', 'forged'))
    const evidence = (lines: readonly string[]): string[] =>
      lines.filter((line) => !line.startsWith('{"seq":') && !line.startsWith('{"format":'))
    const rechained = (lines: readonly string[]): string[] => [
      ...linesOf(resealed(parsed(edit(lines)))).filter((line) => !line.startsWith('{"blob":')),
      ...evidence(lines),
    ]
    const signed = (lines: readonly string[]): string[] =>
      lines.map((line) =>
        line.startsWith('{"checkpoint":')
          ? line.replace(/\\n(\d+)\\n/, (_, n: string) => `\\n${Number(n) - 1}\\n`)
          : line,
      )
    const attacks: [string[], string][] = [
      [edit(whole), 'was changed'],
      [edit(part), 'was changed'],
      [rechained(part), 'is not in the tree'],
      [rechained(whole), 'the messages are not those of a checkpoint'],
      [without(whole, messagesOf(whole)[1]), 'NOT VERIFIED'],
      [without(part, messagesOf(part)[1]), 'is missing'],
      [without(whole, messagesOf(whole)[0]), 'NOT VERIFIED'],
      [
        whole.filter((line) => !messagesOf(whole).slice(-3).includes(line)),
        'the messages are not those of a checkpoint',
      ],
      [without(part, messagesOf(part).at(-1)), 'a log does not end where it should'],
      [signed(whole), 'a signature is wrong'],
      [signed(part), 'a signature is wrong'],
      [
        whole.map((line) => line.replace(/"created":"[^"]+"/, '"created":"2020-01-01T00:00:00Z"')),
        'a checkpoint is of another journal',
      ],
    ]
    for (const [lines, says] of attacks) {
      const { exit, says: said } = await verified(lines)
      expect([says, exit, said]).toEqual([says, 1, expect.stringContaining(says)])
    }
    // A key that somebody knows refuses what another key signed.
    const stranger =
      'BEAVER_x@1+00000000+' + Buffer.concat([Buffer.from([1]), Buffer.alloc(32, 9)]).toString('base64')
    expect(await verified(whole, stranger)).toEqual({ exit: 1, says: 'NOT VERIFIED: a signature is wrong' })
    const later = await at.file('later.txt', [valueOf(whole, 'checkpoint').trimEnd()])
    expect(
      (await verified(without(whole, messagesOf(whole).at(-1)), valueOf(whole, 'key'), later)).exit,
    ).toBe(1)
  })

  it('verifies a journal with an archive by the further lines, and not without them', async () => {
    const page = read('docs/how-to/verify-without-beaver.md')
    const [, , , before = '', within = ''] = [...page.matchAll(/```python\n([^]*?)```/g)].map(
      ([, text = '']) => text,
    )
    const loop = 'for line in (line for line in lines if "seq" in line):\n'
    const text = readFileSync(signing, 'utf8')
    expect(text.split(loop)).toHaveLength(2)
    const archiving = join(at.system.workspace, 'verify-archive.py')
    await writeFile(
      archiving,
      text.replace(loop, () => `${before}${loop}${within}`),
    )
    const honest = {
      exit: 0,
      says: expect.stringMatching(/^verified: \d+ messages, \d+ logs.*\nsigned: /) as string,
    }
    expect(await python(archiving, whole)).toEqual(honest)

    expect(
      await at.beaver('archive', '--before', '0s', '--out', join(at.system.workspace, 'archive')),
    ).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/\d+ messages? removed/) as string,
    })
    await until(
      'the projector has read it',
      async () => (await at.system.client.query('status').catch(() => null))?.behind === 0,
    )
    const [all, some] = [await exported(), await exported('loop')]
    expect(await python(signing, all)).toEqual({
      exit: 1,
      says: expect.stringContaining('NOT VERIFIED: ') as string,
    })
    for (const lines of [all, some]) expect(await python(archiving, lines)).toEqual(honest)
    const events = all.find((line) => line.includes('messages_archived')) ?? ''
    const attacks = [
      all.filter((line) => line !== events),
      all.map((line) =>
        line === events
          ? line.replace(
              /"payloads\\":\[\\"./,
              (start) => `${start.slice(0, -1)}${start.endsWith('A') ? 'B' : 'A'}`,
            )
          : line,
      ),
      all.map((line) => (line === events ? line.replace('"sequences\\":[', '"sequences\\":[1') : line)),
    ]
    for (const lines of attacks) {
      expect(lines).not.toEqual(all)
      expect(await python(archiving, lines)).toEqual({
        exit: 1,
        says: expect.stringContaining('NOT VERIFIED: ') as string,
      })
    }
  })
})
