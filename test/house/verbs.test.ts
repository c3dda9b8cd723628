// The page "Add a verb" (docs/how-to/contribute.md) names every source file that has a part of its example, the
// verb `steer`, and no other file.
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { eventData } from '@beaver/core'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

const [, section = ''] = /^## Add a verb\n(.*?)^## /ms.exec(read('docs/how-to/contribute.md')) ?? []
const sourcesIn = (text: string): string[] =>
  [...text.matchAll(/`((?:packages|apps)\/[\w./-]+\.ts)`/g)].map(([, path = '']) => path)

/** Whether the code of a file has the verb; its comments do not count. */
const hasVerb = (path: string): boolean =>
  read(path)
    .split('\n')
    .some((line) => /steer/i.test(line) && !/^\s*(?:\/\/|\/?\*)/.test(line))

describe('the page "Add a verb"', () => {
  it('names each source file that has a part of the verb, once, and no other', () => {
    const sources = globSync('{packages,apps}/*/src/**/*.ts', { cwd: root }).filter(
      (path) => !path.endsWith('.test.ts'),
    )
    expect(sourcesIn(section).toSorted()).toEqual(sources.filter(hasVerb).toSorted())
  })

  it('says how many files a new verb takes, at most 15 with those of a rule of its own', () => {
    const steps = [...section.matchAll(/^\d+\. .*$/gm)].flatMap(([step]) => sourcesIn(step))
    expect(section).toContain(`takes these ${steps.length} source files`)
    const [, ownRule = ''] = /^(If the rule of the verb .*)$/m.exec(section) ?? []
    expect(sourcesIn(ownRule)).toHaveLength(2)
    expect(steps.length + 2).toBeLessThanOrEqual(15)
  })
})

it('the checker, which has a list of its own, knows each event', () => {
  const shapes = read('packages/check/src/event.ts')
  expect(Object.keys(eventData).filter((type) => !shapes.includes(`\n  ${type}: `))).toEqual([])
})
