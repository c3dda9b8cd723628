// docs/explanation/optimisations.md is held to the sources: each optimisation has one row, lives in the file the row names, and has its switch there.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { optimisations } from '@beaver/core'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

/** Of the rows of the tables: where it lives, and the switch, if it has one. */
const rows = read('docs/explanation/optimisations.md')
  .split('\n')
  .flatMap((line) => {
    const [, where = '', , , , switchText = ''] = line.split(' | ')
    const [path] = /(?:packages|apps|patches|scripts)\/[\w./-]+/.exec(where) ?? []
    return path === undefined ? [] : [{ path, name: /`(\w+)`/.exec(switchText)?.[1] ?? null }]
  })
const sources = globSync('{packages,apps}/*/src/**/*.ts', { cwd: root, exclude: (path) => path.endsWith('.test.ts') || path.endsWith('optimisations.ts') })

it('names files that are there', () => {
  expect(rows.length).toBeGreaterThan(optimisations.length)
  expect(rows.filter(({ path }) => !existsSync(`${root}${path}`))).toEqual([])
})

it('has one row for each switch', () => {
  expect(rows.flatMap(({ name }) => name ?? []).toSorted()).toEqual([...optimisations].toSorted())
})

it.each(optimisations.filter((name) => name !== 'v8_flags'))('%s is asked for in the one file its row names', (name) => {
  const asked = sources.map((path) => path.replaceAll('\\', '/')).filter((path) => read(path).includes(`isOn('${name}')`))
  expect(asked).toEqual([rows.find((row) => row.name === name)?.path])
})
