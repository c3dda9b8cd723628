// Names and sizes, held to test/architecture/table.ts. Each rule is also shown a planted fault, so that it is
// known to see.
import { describe, expect, it } from 'vitest'
import type { Facts } from '../architecture/facts.ts'
import { idleExports, idleRows, longFunctions, twiceDefined } from '../architecture/name-rules.ts'
import type { Package } from '../architecture/rules.ts'
import {
  exportedForOthers,
  namesWithTwoMeanings,
  reachedOtherwise,
  table,
  testRow,
} from '../architecture/table.ts'
import { core, files, packages, planted } from '../architecture/workspace.ts'

describe('a function', () => {
  const lines = (count: number): string => `export function f() {${'\n'.repeat(count - 1)}}`

  it('of a source is at most 110 lines long', () => expect(longFunctions(files)).toEqual([]))

  it('of 111 lines is refused, unless it is a test', () => {
    const at = (count: number) => planted('packages/core/src/planted.ts', lines(count))
    expect(longFunctions(at(110))).toEqual([])
    expect(longFunctions(at(111))).toEqual(['packages/core/src/planted.ts:1 f has 111 lines, 110 allowed'])
    expect(longFunctions(planted('packages/core/src/planted.test.ts', lines(200)))).toEqual([])
  })

  it.each([
    ['a method', `export class C {\n  m() {${'\n'.repeat(111)}}\n}`, 'm'],
    ['an arrow function', `const f = () => {${'\n'.repeat(111)}}`, 'f'],
    ['a callback', `call(() => {${'\n'.repeat(111)}})`, '<callback>'],
  ])('is found as %s', (_, text, name) => {
    expect(longFunctions(planted('packages/core/src/planted.ts', text))).toEqual([
      expect.stringContaining(` ${name} has 112 lines`),
    ])
  })
})

describe('a row of the table', () => {
  const row = { packages: ['agent'], modules: ['zod'], node: ['fs'] }
  const text = `import '@beaver/agent'\nimport { z } from 'zod'\nimport { rmSync } from 'node:fs'`

  it('names only what its package imports', () =>
    expect(idleRows(files, table, testRow, reachedOtherwise)).toEqual([]))

  it('that names more is a finding', () => {
    const tests = planted('packages/x/src/planted.test.ts', text)
    expect(
      idleRows([...tests, ...planted('packages/x/src/planted.ts', text)], { 'packages/x': row }, row),
    ).toEqual([])
    expect(idleRows(tests, { 'packages/x': row }, row)).toEqual(
      ['@beaver/agent', 'zod', 'node:fs'].map(
        (each) => `the row packages/x names ${each}, which nothing there imports`,
      ),
    )
    expect(idleRows([], {}, row)).toHaveLength(3)
    const excepted = [{ path: 'packages/x', what: 'zod', why: 'planted' }]
    expect(idleRows(tests, { 'packages/x': row }, row, excepted)).toHaveLength(2)
    expect(
      idleRows(
        [...tests, ...planted('packages/x/src/planted.ts', text)],
        { 'packages/x': row },
        row,
        excepted,
      ),
    ).toEqual(['packages/x imports zod: it needs no exception'])
  })
})

describe('an exported value', () => {
  const other = (text: string) => planted('packages/nats/src/other.ts', text)
  const index = planted('packages/core/src/index.ts', `export { a, type B } from './a.ts'`)
  const a = planted('packages/core/src/a.ts', `export const a = 1\nexport interface B { readonly b: number }`)
  const isIdle = (...sources: (readonly Facts[])[]) => idleExports(sources.flat(), [core], [])

  it('is used by somebody, or stands in the table', () =>
    expect(idleExports(files, packages, exportedForOthers)).toEqual([]))

  it('that nobody imports is a finding, in the entry of a package too', () => {
    expect(isIdle(a)).toEqual(['packages/core/src/a.ts:1 exports a, which nobody imports'])
    expect(isIdle(a, index)).toEqual(['packages/core/src/index.ts:1 exports a, which nobody imports'])
  })

  it.each([
    ['an import', `import { a } from '@beaver/core'`],
    ['a re-export', `export { a as b } from '@beaver/core'`],
    ['a namespace', `import * as core from '@beaver/core'`],
    ['a dynamic import', `const load = () => import('@beaver/core')`],
  ])('is used by %s', (_, text) =>
    expect(isIdle(a, index, other(text)).filter((line) => line.includes('core'))).toEqual([]),
  )

  it('that is listed and used is a finding', () => {
    const row = [{ path: 'packages/core/src/a.ts', what: 'a', why: 'planted' }]
    expect(
      idleExports([...a, ...planted('packages/core/src/c.ts', `import { a } from './a.ts'`)], [core], row),
    ).toEqual(['packages/core/src/a.ts needs no exception for a any more'])
  })
})

describe('a name that packages export', () => {
  const nats: Package = {
    ...core,
    folder: 'packages/nats',
    manifest: { name: '@beaver/nats', exports: { '.': './src/index.ts' } },
  }
  const index = (name: string, text: string) => planted(`packages/${name}/src/index.ts`, text)
  const twice = [
    ...index('core', 'export const a = 1'),
    ...index('nats', 'export interface a { readonly a: number }'),
  ]
  const known = [{ path: 'packages/nats/src/index.ts', what: 'a', why: 'planted' }]

  it('means one thing', () => expect(twiceDefined(files, packages, namesWithTwoMeanings)).toEqual([]))

  it('and define twice is a finding, unless it is listed', () => {
    expect(twiceDefined(twice, [core, nats], [])).toEqual([
      'a is defined in packages/core/src/index.ts and packages/nats/src/index.ts',
    ])
    expect(twiceDefined(twice, [core, nats], known)).toEqual([])
  })

  it('and hand on is one name, and needs no exception', () => {
    const handedOn = [
      ...index('core', 'export const a = 1'),
      ...index('nats', `export { a } from '@beaver/core'`),
    ]
    expect(twiceDefined(handedOn, [core, nats], known)).toEqual([
      'a needs no exception any more: it has one definition',
    ])
  })
})
