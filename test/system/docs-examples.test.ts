// The doc comments of the packages that programs import: every public export has one, and every example in them compiles and gives what it says.
// All examples are one TypeScript program and run in two processes of Node.js, beside planted ones that are wrong.
import { fork } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileCache } from '../support/compile-cache.ts'
import { exampleModule, type Names } from '../docs/example-module.ts'
import { type Example, examplesIn, importableNames, type PublicExport, publicExports } from '../docs/public-exports.ts'
import { typeFaults } from '../docs/type-faults.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folders = ['core', 'workflows', 'agent', 'client', 'service', 'ai-sdk']
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
  [`if (estimateTokens('four') === 2) estimateTokens('four') // => 1`, /^1 of its results were not reached\.$/],
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
const plantedCases: readonly Case[] = planted.map(([code]) => ({ title: `planted ${code}`, from: '@beaver/core', example: { code, line: 1 } }))
const findings = new Map<string, string[]>()
const tell = (title: string, finding: string): void => void findings.set(title, [...(findings.get(title) ?? []), finding])

let folder: string
beforeAll(async () => {
  mkdirSync(join(root, '.beaver', 'tmp'), { recursive: true })
  // Inside the repository, so that the packages are found.
  folder = mkdtempSync(join(root, '.beaver', 'tmp', 'examples-'))
  const files = new Map([...cases, ...plantedCases].flatMap((each, index) => written(each, index)))
  await Promise.all([compile(files), runAll(files)])
})
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
    package: { from, ...importableNames(from.slice('@beaver/'.length)) },
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
  const config = { extends: join(root, 'tsconfig.test.json'), compilerOptions: { rootDir: root }, include: [], files: [...files.keys()] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  for (const { file, line, message } of await typeFaults(join(folder, 'tsconfig.json'), [...files.keys()]))
    tell(files.get(file)?.title ?? file, `${line - 1} ${message}`)
}

/** Two processes, because examples of the service start systems of their own. */
async function runAll(files: ReadonlyMap<string, Case>): Promise<void> {
  const isService = ([, { from }]: readonly [string, Case]): boolean => from === '@beaver/service'
  const all = [...files]
  await Promise.all([
    run(
      'context',
      all.filter((each) => !isService(each)).map(([file]) => file),
      files,
    ),
    run(
      'alone',
      all.filter(isService).map(([file]) => file),
      files,
    ),
  ])
}

function run(mode: 'context' | 'alone', paths: readonly string[], files: ReadonlyMap<string, Case>): Promise<void> {
  const cwd = join(folder, mode)
  cpSync(join(root, 'test/docs/example-workspace'), cwd, { recursive: true })
  const env = { PATH: process.env['PATH'], ...compileCache }
  const child = fork(join(root, 'test/docs/run-examples.ts'), [mode, ...paths], { cwd, env, execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const waiting = new Set(paths)
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  child.on('message', ({ file, fault }: { file: string; fault: string | null }) => {
    waiting.delete(file)
    if (fault !== null) tell(files.get(file)?.title ?? file, fault)
  })
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      const [next] = waiting
      if (next !== undefined || code !== 0)
        tell(`the process "${mode}"`, `It ended with ${code}${next === undefined ? '' : ` before ${files.get(next)?.title}`}: ${stderr}`)
      resolve()
    })
  })
}

describe('a public export', () => {
  const placed = ({ path, line, name }: PublicExport): string => `${path}:${line} ${name}`

  it('was found, of every kind', () => {
    for (const kind of ['function', 'class', 'constant', 'type', 'inferred']) expect(exported.filter((each) => each.kind === kind).length).toBeGreaterThan(5)
  })

  it('has a doc comment', () => {
    expect(exported.filter(({ kind, doc }) => kind !== 'inferred' && /^(?:@|$)/.test(doc)).map(placed)).toEqual([])
  })

  it('that can be called has one example', () => {
    const called = exported.filter(({ kind }) => kind === 'function' || kind === 'class')
    expect(called.filter(({ doc }) => doc.match(/^@example/gm)?.length !== 1).map(placed)).toEqual([])
  })

  it('has all the examples of its package: no other one would run', () => {
    const idle = globSync(`packages/{${folders.join(',')}}/src/**/*.ts`, { cwd: root }).flatMap((path) => {
      const run = cases.filter(({ title }) => title.startsWith(`${path}:`)).length
      return examplesIn(readFileSync(`${root}${path}`, 'utf8')).length > run ? `${path} has examples of what it does not export: state the result in words` : []
    })
    expect(idle).toEqual([])
  })
})

describe('an example', () => {
  it('compiles, and gives what it says', () => {
    expect([...findings].filter(([title]) => !title.startsWith('planted')).map(([title, each]) => `${title}: ${each.join('; ')}`)).toEqual([])
  })

  it.each(planted)('that is wrong is a finding: %s', (code, finding) => {
    expect((findings.get(`planted ${code}`) ?? []).filter((each) => finding.test(each))).toHaveLength(1)
  })
})

describe('a package', () => {
  const read = (sources: Readonly<Record<string, string>>) => (path: string) => sources[path.replace('packages/x/src/', '')] ?? ''
  const found = (sources: Readonly<Record<string, string>>) =>
    publicExports(['x'], read(sources)).map(({ name, kind, doc, examples }) => [name, kind, doc, examples.length])

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
