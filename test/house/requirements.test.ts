// What is cited exists: every id in the code, the tests and the pages has one row in docs/requirements, no file
// cites a section of a document that is not part of the project, and no comment names a source that is gone.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const home = 'docs/requirements/'
const notOurs = /(?:^|\/)(?:node_modules|dist|coverage|\.beaver)(?:\/|$)/
const files = globSync('{*,{apps,packages,bench,bin,docs,examples,scripts,skills,test}/**/*}.{ts,mjs,md}', {
  cwd: root,
  exclude: (path) => notOurs.test(path),
}).toSorted()
const texts = new Map(files.map((path) => [path, readFileSync(`${root}${path}`, 'utf8')]))
const pages = [...texts].flatMap(([path, text]) => (path.startsWith(home) ? [text] : []))

const rows = pages.flatMap((page) => [...page.matchAll(/^\| ([A-Z]+-\d+) \|/gm)].map(([, id = '']) => id))
const known = new Set(rows)
const families = [...new Set(rows.map((id) => id.slice(0, id.indexOf('-'))))]
const citation = new RegExp(
  String.raw`(?<![\w-])(?:${families.join('|')})-\d+(?!\w|-\d)|\bS[0-4][ab]? §[\d.]+`,
  'g',
)

/** What a file cites and nobody can look up, as `file:line citation`. Sources are cited in the rows only. */
function lostCitations(path: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(citation)]
        .filter(([cited]) => (cited.includes('§') ? !path.startsWith(home) : !known.has(cited)))
        .map(([cited]) => `${path}:${index + 1} ${cited}`),
    )
}

const fileNames = new Set(files.map((path) => path.slice(path.lastIndexOf('/') + 1)))

/** The sources that the comments of a file name and that do not exist, as `file:line name`. */
function lostFiles(path: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      /^\s*(?:\/\/|\*|\/\*)/.test(line)
        ? [...line.matchAll(/(?<![\w./-])[a-z][a-z0-9-]*(?:\.[a-z-]+)*\.ts\b/g)]
            .filter(([name]) => !fileNames.has(name))
            .map(([name]) => `${path}:${index + 1} ${name}`)
        : [],
    )
}

describe('docs/requirements', () => {
  it('has every id once', () => {
    expect(rows.length).toBeGreaterThan(400)
    expect(rows.filter((id, index) => rows.indexOf(id) !== index)).toEqual([])
  })

  it('lists every family in its README', () => {
    const listed = [...(texts.get(`${home}README.md`) ?? '').matchAll(/^\| `([A-Z]+)` \|/gm)]
    expect(listed.map(([, family = '']) => family).toSorted()).toEqual(families.toSorted())
  })

  it('has a row for every id that a file cites', () => {
    expect(files.length).toBeGreaterThan(1000)
    expect([...texts].flatMap(([path, text]) => lostCitations(path, text))).toEqual([])
  })
})

describe('a citation', () => {
  const noRow = ['D', '999'].join('-')
  const section = ['S0', '§6.1'].join(' ')

  it.each([
    ['an id without a row', `// A claim.\n// It holds (D-01, ${noRow}).`, `a.ts:2 ${noRow}`],
    ['the end of a range without a row', `D-01 to ${noRow}.\n`, `a.ts:1 ${noRow}`],
    ['a section of a source document', `x\n\n// As ${section} says.`, `a.ts:3 ${section}`],
  ])('of %s is seen, with file and line', (_, text, fault) => {
    expect(lostCitations('a.ts', text)).toEqual([fault])
  })

  it('of a source that is gone is seen in the comments of sources', () => {
    const sources = [...texts].filter(([path]) => /^(?:packages|apps)\/[^/]+\/src\//.test(path))
    expect(sources.length).toBeGreaterThan(500)
    expect(sources.flatMap(([path, text]) => lostFiles(path, text))).toEqual([])
    expect(lostFiles('a.ts', '// See gone-file.ts.\nload("./never.ts")')).toEqual(['a.ts:1 gone-file.ts'])
  })

  it('is not seen in other words with a number', () => {
    const text = 'UTF-8 SHA-256 GPT-4 ISO-8601 AES-GCM-256 RFC-3339 COVID-19 X-D-99 D-2026-01 D-9a d-99 AND-9'
    expect(lostCitations('a.ts', text)).toEqual([])
  })
})
