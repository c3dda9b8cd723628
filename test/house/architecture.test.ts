// The architecture, held to test/architecture/table.ts. Each rule is also shown a planted fault, so that it
// is known to see.
import { describe, expect, it } from 'vitest'
import {
  appsReached,
  beyondBrowser,
  clockBypasses,
  cyclesOf,
  environmentReads,
  escapesBeyond,
  foldersMade,
  importCycles,
  importsBeyondTable,
  impureUses,
  longFiles,
  type Package,
  packagesBeyondTable,
  privateImports,
  programStarts,
  stdoutWrites,
  subjectTexts,
  undeclaredImports,
  wordsOfErrors,
} from '../architecture/rules.ts'
import {
  browserStarts,
  computedImports,
  environmentReaders,
  folderMakers,
  impurities,
  programStarters,
  realTime,
  stdoutWriters,
  subjectBuilders,
  table,
  testRow,
  typeEscapes,
  wordsRead,
} from '../architecture/table.ts'
import { core, files, packages, planted } from '../architecture/workspace.ts'

describe('the table of packages', () => {
  it('was held to all packages and sources, not to an empty list', () => {
    expect(packages.length).toBeGreaterThan(10)
    expect(files.length).toBeGreaterThan(200)
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(500)
  })

  it('names every package and app, and what it declares', () =>
    expect(packagesBeyondTable(packages, table)).toEqual([]))

  it('leads one way: no package reaches itself', () => expect(cyclesOf(table)).toEqual([]))

  it('covers every import of every source and test', () =>
    expect(importsBeyondTable(files, table, testRow, computedImports)).toEqual([]))

  it('is not gone around by an import that package.json does not declare', () =>
    expect(undeclaredImports(files, packages)).toEqual([]))

  it.each([
    ['a static import', `import { connect } from '@nats-io/transport-node'`],
    ['a type', `import type { NatsConnection } from '@nats-io/nats-core'`],
    ['a type in place', `export type Connection = import('@nats-io/nats-core').NatsConnection`],
    ['a dynamic import', `export const load = () => import('@beaver/nats')`],
    ['a re-export', `export { journal } from '@beaver/nats'`],
    ['a wildcard', `export * from '@beaver/nats'`],
    ['a require', `const nats = require('nats')`],
    ['a module of Node.js', `import { readFileSync } from 'node:fs'`],
    ['a module of Node.js without its prefix', `import { readFileSync } from 'fs'`],
    ['a computed import', `export const load = (name: string) => import(name)`],
    ['a twin in a source', `import { virtualClock } from '@beaver/testing'`],
  ])('refuses core %s', (_, text) => {
    expect(importsBeyondTable(planted('packages/core/src/planted.ts', text), table, testRow)).toHaveLength(1)
  })

  it('lets a test import the twins and vitest, and nothing else besides', () => {
    const text = `import { it } from 'vitest'\nimport { virtualClock } from '@beaver/testing'\nimport { connect } from '@beaver/nats'`
    expect(importsBeyondTable(planted('packages/core/src/planted.test.ts', text), table, testRow)).toEqual([
      'packages/core/src/planted.test.ts:3 imports @beaver/nats',
    ])
  })

  it('refuses a dependency, a package and a project reference that it does not name', () => {
    const small = { 'packages/core': table['packages/core']! }
    const declares = (dependencies: Record<string, string>): Package => ({
      ...core,
      manifest: { ...core.manifest, dependencies },
    })
    expect(packagesBeyondTable([core], small)).toEqual([])
    expect(packagesBeyondTable([declares({ lodash: '1' })], small)).toEqual([
      'packages/core/package.json declares lodash',
    ])
    expect(packagesBeyondTable([core, { ...core, folder: 'packages/extra' }], small)).toEqual([
      'packages/extra does not stand in the table',
    ])
    expect(packagesBeyondTable([], small)).toEqual(['packages/core stands in the table and is no package'])
    expect(packagesBeyondTable([{ ...core, references: ['packages/nats'] }], small)).toEqual([
      'packages/core/tsconfig.json refers to [packages/nats], package.json declares []',
    ])
  })

  it('refuses an import that the package does not declare, though the table would allow it', () => {
    const bare: Package = { ...core, manifest: { name: '@beaver/core' } }
    expect(
      undeclaredImports(planted('packages/core/src/planted.ts', `import { z } from 'zod'`), [bare]),
    ).toEqual([
      'packages/core/src/planted.ts:1 imports zod, which packages/core/package.json does not declare',
    ])
  })

  it('lets a row name one export of a package, and refuses the others', () => {
    const row = { packages: ['core/ids'], modules: [], node: [] }
    const imports = (specifier: string) =>
      importsBeyondTable(
        planted('packages/x/src/planted.ts', `import '${specifier}'`),
        { 'packages/x': row },
        testRow,
      )
    expect(imports('@beaver/core/ids')).toEqual([])
    expect(imports('@beaver/core')).toHaveLength(1)
    expect(imports('@beaver/core/ids/more')).toHaveLength(1)
    const x: Package = {
      folder: 'packages/x',
      manifest: { name: '@beaver/x', dependencies: { '@beaver/core': '1' } },
      references: ['packages/core'],
    }
    expect(
      packagesBeyondTable([core, x], { 'packages/core': table['packages/core']!, 'packages/x': row }),
    ).toEqual([])
    expect(
      cyclesOf({ 'packages/core': { packages: ['x'], modules: [], node: [] }, 'packages/x': row }),
    ).toHaveLength(1)
  })

  it('refuses a row that leads back', () => {
    const row = (...names: string[]) => ({ packages: names, modules: [], node: [] })
    expect(cyclesOf({ 'packages/a': row('b'), 'packages/b': row('c'), 'packages/c': row('b') })).toEqual([
      'packages/b → packages/c → packages/b',
    ])
  })
})

describe('another package', () => {
  it('is reached only by what it exports, from tests too', () =>
    expect(privateImports(files, packages)).toEqual([]))

  it.each([
    ['a private file by name', 'test/planted.test.ts', '@beaver/core/src/errors.ts'],
    ['a private file by path', 'test/planted.test.ts', '../packages/core/src/errors.ts'],
    ['its test kit', 'packages/nats/src/planted.test.ts', '../../core/test/log.ts'],
    ['the tests of the workspace', 'packages/nats/src/planted.test.ts', '../../../test/support/nats.ts'],
    ['a package nobody knows', 'bench/planted.ts', '@beaver/nonsense'],
    ['a test kit from a source', 'packages/core/src/planted.ts', '../test/log.ts'],
  ])('refuses %s', (_, path, specifier) => {
    expect(privateImports(planted(path, `import { x } from '${specifier}'`), [core])).toHaveLength(1)
  })

  it('gives its test kit to its own tests', () => {
    expect(
      privateImports(
        planted('packages/core/src/fold/planted.test.ts', `import { x } from '../../test/log.ts'`),
        [core],
      ),
    ).toEqual([])
  })
})

describe('sources of one package', () => {
  it('import each other in no circle, types included', () => expect(importCycles(files)).toEqual([]))

  it.each([
    ['a value', `import { b } from './b.ts'`],
    ['a type', `import type { B } from './b.ts'`],
    ['a type in place', `export type C = import('./b.ts').B`],
    ['a re-export', `export { b } from './b.ts'`],
  ])('may not close a circle by %s', (_, text) => {
    const others = [
      ...planted('packages/core/src/b.ts', `import type { C } from './x/c.ts'`),
      ...planted('packages/core/src/x/c.ts', `export { a } from '../a.ts'`),
    ]
    expect(importCycles([...planted('packages/core/src/a.ts', text), ...others])).toEqual([
      'packages/core/src/a.ts → packages/core/src/b.ts → packages/core/src/x/c.ts → packages/core/src/a.ts',
    ])
    expect(importCycles([...planted('packages/core/src/a.test.ts', text), ...others])).toEqual([])
  })
})

describe('what a page in a browser takes of the packages', () => {
  it('reaches no schema, no module of the registry and nothing of Node.js', () =>
    expect(beyondBrowser(files, packages, browserStarts, table['apps/console']?.modules)).toEqual([]))

  const view = 'packages/core/src/view.ts'
  const small: Package = {
    ...core,
    manifest: { name: '@beaver/core', exports: { '.': './src/index.ts', './view': './src/view.ts' } },
  }
  const reached = (text: string, names = ['*'], modules: readonly string[] = []) => {
    const others = [
      ...planted('packages/core/src/index.ts', `export { a, b } from './rooms.ts'`),
      ...planted('packages/core/src/rooms.ts', `export { a } from './a.ts'\nexport { b } from './b.ts'`),
      ...planted('packages/core/src/a.ts', `export const a = 1`),
      ...planted('packages/core/src/b.ts', `import { z } from 'zod'\nexport const b = z.int()`),
    ]
    return beyondBrowser(
      [...planted(view, text), ...others],
      [small],
      { '@beaver/core/view': names },
      modules,
    )
  }

  it.each([
    ['a module of the registry', `import { z } from 'zod'`, 'zod'],
    ['a module that is only run', `import 're2js'`, 're2js'],
    ['a module of Node.js', `import { hash } from 'node:crypto'`, 'node:crypto'],
    ['a value among types', `import { type ZodType, z } from 'zod'`, 'zod'],
    ['a re-export', `export { z } from 'zod'`, 'zod'],
    ['all of a module', `export * from 'zod'`, 'zod'],
    ['a dynamic import', `export const load = () => import('zod')`, 'zod'],
    ['a require', `const zod = require('zod')`, 'zod'],
    ['a computed import', `export const load = (name: string) => import(name)`, 'what only running it tells'],
    ['bytes of Node.js', `export const bytes = Buffer.from('')`, 'Buffer.from'],
    ['the process', `export const { env } = process`, 'process.env'],
  ])('may not reach %s', (_, text, what) => expect(reached(text)).toEqual([`${view} → ${what}`]))

  it.each([
    ['a type', `import type { z } from 'zod'`],
    ['a type by its own word', `import { type z } from 'zod'`],
    ['a type in place', `export type Z = import('zod').ZodType`],
    ['a type that is exported again', `export type { ZodType } from 'zod'\nexport { type z } from 'zod'`],
    ['the types of a file with schemas', `import type { b } from './b.ts'`],
    ['a name whose neighbour needs more', `import { a } from './index.ts'`],
    ['the same over the name of the package', `import { a } from '@beaver/core'`],
  ])('may reach %s', (_, text) => expect(reached(text)).toEqual([]))

  it('is followed from file to file, by name and from the names that the page takes', () => {
    const way = ['index', 'rooms', 'b'].map((name) => `packages/core/src/${name}.ts`).join(' → ')
    expect(reached(`import { b } from '@beaver/core'`)).toEqual([`${view} → ${way} → zod`])
    const both = `export { a } from './a.ts'\nexport { b } from './b.ts'`
    expect(reached(both, ['a'])).toEqual([])
    expect(reached(both, ['a', 'b'])).toHaveLength(1)
    expect(reached(both, ['b'], ['zod'])).toEqual([])
    expect(reached(both, ['gone'])).toContain('@beaver/core/view does not export gone')
  })
})

describe('an app', () => {
  const app: Package = {
    folder: 'apps/daemon',
    manifest: { name: '@beaver/daemon-app', exports: { '.': './src/main.ts' } },
    references: [],
  }

  it('is started, and neither imported nor needed by a package', () =>
    expect(appsReached(files, packages)).toEqual([]))

  it.each([
    ['a package', 'packages/service/src/planted.ts', `import { start } from '@beaver/daemon-app'`],
    [
      'a package in a test',
      'packages/service/src/planted.test.ts',
      `import { start } from '@beaver/daemon-app/start'`,
    ],
    [
      'a package when it needs it',
      'packages/service/src/planted.ts',
      `export const load = () => import('@beaver/daemon-app')`,
    ],
    ['another app', 'apps/cli/src/planted.ts', `import '@beaver/daemon-app'`],
  ])('may not be imported by %s', (_, path, text) =>
    expect(appsReached(planted(path, text), [app])).toHaveLength(1),
  )

  it('may be declared by an app that starts it, and by no package', () => {
    const declares = (folder: string): Package => ({
      folder,
      manifest: { name: '@beaver/x', dependencies: { [app.manifest.name]: '1' } },
      references: [],
    })
    expect(appsReached([], [app, declares('apps/cli')])).toEqual([])
    expect(appsReached([], [app, declares('packages/service')])).toEqual([
      'packages/service/package.json declares the app @beaver/daemon-app',
    ])
  })
})

describe('the environment', () => {
  it('is read by apps only', () => expect(environmentReads(files, environmentReaders)).toEqual([]))

  it.each([
    [`export const home = process.env['HOME']`],
    [`const { env } = process`],
    [`import { env } from 'node:process'`],
    [`const everything = process`],
    [`export const home = process['env'].HOME`],
  ])('refuses a package %s', (text) => {
    expect(environmentReads(planted('packages/runtime/src/planted.ts', text), [])).toHaveLength(1)
    expect(environmentReads(planted('apps/daemon/src/planted.ts', text), [])).toEqual([])
  })
})

describe('stdout', () => {
  it('belongs to the command line', () => expect(stdoutWrites(files, stdoutWriters)).toEqual([]))

  it.each([
    [`console.log('here')`],
    [`process.stdout.write('here')`],
    [`const { stdout } = process`],
    [`import { stdout } from 'node:process'`],
    [`console['error']('here')`],
  ])('refuses the daemon %s', (text) => {
    expect(stdoutWrites(planted('packages/daemon/src/planted.ts', text), [])).toHaveLength(1)
    expect(stdoutWrites(planted('apps/cli/src/planted.ts', text), [])).toEqual([])
  })
})

describe('a start of a program', () => {
  it('is in one place', () => expect(programStarts(files, programStarters)).toEqual([]))

  it.each([
    [`import { spawn } from 'node:child_process'`],
    [`import * as processes from 'node:child_process'`],
  ])('refuses the daemon %s', (text) => {
    expect(programStarts(planted('packages/daemon/src/planted.ts', text), [])).toHaveLength(1)
    expect(programStarts(planted('packages/daemon/src/planted.test.ts', text), [])).toEqual([])
  })
})

describe('a folder', () => {
  it('is made in one place', () => expect(foldersMade(files, folderMakers)).toEqual([]))

  it.each([
    [`import { mkdirSync } from 'node:fs'`],
    [`import { mkdir } from 'node:fs/promises'`],
    [`import * as fs from 'node:fs'`],
  ])('refuses the daemon %s', (text) => {
    expect(foldersMade(planted('packages/daemon/src/planted.ts', text), [])).toHaveLength(1)
    expect(foldersMade(planted('packages/daemon/src/planted.test.ts', text), [])).toEqual([])
  })
})

describe('time and randomness', () => {
  it('come into core and workflows by port', () => expect(impureUses(files, impurities)).toEqual([]))

  it.each([
    ['new Date()'],
    ['Date()'],
    ['Date.now()'],
    ['const { now } = Date'],
    ['const clock = Date'],
    ['Math.random()'],
    ['performance.now()'],
    ['setTimeout(() => {}, 1)'],
    ['globalThis.setInterval(() => {}, 1)'],
    ['const later = setImmediate'],
    ['crypto.randomUUID()'],
    [`import { randomUUID } from 'node:crypto'`],
    [`import * as crypto from 'node:crypto'`],
  ])('refuses workflows %s', (text) => {
    expect(impureUses(planted('packages/workflows/src/planted.ts', text), [])).toHaveLength(1)
  })

  it('lets core read a time it was given, and hash', () => {
    expect(
      impureUses(
        planted(
          'packages/core/src/planted.ts',
          `import { createHash } from 'node:crypto'\nexport const at = new Date(0)\nconst said = { setTimeout: 1 }`,
        ),
        [],
      ),
    ).toEqual([])
  })
})

describe('the Clock', () => {
  it('is gone around only where real time is watched', () =>
    expect(clockBypasses(files, realTime)).toEqual([]))

  it.each([
    ['new Date()'],
    ['Date.now()'],
    ['performance.now()'],
    ['process.hrtime.bigint()'],
    ['setTimeout(act, 1)'],
    ['AbortSignal.timeout(1)'],
    [`import { setTimeout as sleep } from 'node:timers/promises'`],
  ])('is not gone around by %s', (text) => {
    expect(clockBypasses(planted('packages/nats/src/planted.ts', text), [])).toHaveLength(1)
    expect(clockBypasses(planted('packages/nats/src/planted.test.ts', text), [])).toEqual([])
  })

  it('may be gone around no longer than something needs it', () => {
    const idle = [{ path: 'packages/nats/src/line.ts', what: 'setTimeout', why: 'planted' }]
    expect(clockBypasses(planted('packages/nats/src/line.ts', 'export {}'), idle)).toEqual([
      'packages/nats/src/line.ts needs no exception for setTimeout any more',
    ])
  })
})

describe('the words of an error', () => {
  it('decide nothing, but where whoever wrote them gives no code', () =>
    expect(wordsOfErrors(files, wordsRead)).toEqual([]))

  it.each([
    ['/timeout/.test(message)'],
    ['/timeout/.test(messageOf(error))'],
    [`error.message.includes('x')`],
    [`reason.startsWith('x')`],
    ['pattern.exec(event.data.reason)'],
  ])('may not be looked into: %s', (text) =>
    expect(wordsOfErrors(planted('packages/nats/src/planted.ts', text), [])).toHaveLength(1),
  )

  it('may be changed, and other texts read', () => {
    expect(
      wordsOfErrors(
        planted(
          'packages/nats/src/planted.ts',
          `message.replace('a', 'b')\nconst x = /x/.test(name) || messages.includes(message)`,
        ),
        [],
      ),
    ).toEqual([])
  })
})

describe('subjects', () => {
  it('are built in one file', () => expect(subjectTexts(files, subjectBuilders)).toEqual([]))

  it.each([
    ['const s = `beaver.${namespace}.journal.>`'],
    [`const s = 'beaver.default.query.tasks'`],
    [`const s = 'beaver.' + name`],
  ])('are refused elsewhere: %s', (text) => {
    expect(subjectTexts(planted('packages/projector/src/planted.ts', text), [])).toHaveLength(1)
  })

  it('are not the types of records', () =>
    expect(
      subjectTexts(planted('apps/cli/src/planted.ts', `const type = 'beaver.task_submitted.v1'`), []),
    ).toEqual([]))
})

describe('the types', () => {
  it('are gone around only where the table says why', () =>
    expect(escapesBeyond(files, typeEscapes)).toEqual([]))

  it.each([
    ['const x: any = 1'],
    ['const x = y as any'],
    ['const x = y as never'],
    ['const x = y as unknown as string'],
    ['// @ts-expect-error: it works\nconst x: string = 1'],
    ['/* @ts-ignore */ const x: string = 1'],
  ])('are not gone around by %s', (text) => {
    expect(escapesBeyond(planted('packages/core/src/planted.ts', text), [])).toHaveLength(1)
  })

  it('are gone around no oftener than the table says, nor more seldom', () => {
    const twice = planted('packages/core/src/planted.ts', 'const x = [1 as never, 2 as never]')
    const allowed = (times: number) => [
      { path: 'packages/core/src/planted.ts', what: 'as never', times, why: 'planted' },
    ]
    expect(escapesBeyond(twice, allowed(2))).toEqual([])
    expect(escapesBeyond(twice, allowed(1))).toHaveLength(1)
    expect(escapesBeyond(twice, allowed(3))).toEqual([
      'packages/core/src/planted.ts has `as never` fewer than 3 times: correct the table',
    ])
  })
})

describe('a file', () => {
  it('is at most 400 lines long', () => expect(longFiles(files)).toEqual([]))

  it('of 751 lines is refused', () => {
    expect(longFiles(planted('test/planted.ts', '\n'.repeat(750)))).toEqual([])
    expect(longFiles(planted('test/planted.ts', '\n'.repeat(751)))).toEqual([
      'test/planted.ts:751 is longer than 750 lines',
    ])
  })
})

describe('an exception', () => {
  it('that nothing needs any more is a finding', () => {
    const idle = [{ path: 'packages/core/src/ports/clock.ts', what: 'Date.now', why: 'planted' }]
    expect(impureUses(planted('packages/core/src/ports/clock.ts', 'export {}'), idle)).toEqual([
      'packages/core/src/ports/clock.ts needs no exception for Date.now any more',
    ])
  })
})
