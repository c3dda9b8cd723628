import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyToolScope } from './tool-scope.ts'

const assembled = ['web_search', 'web_fetch', 'exec']

describe('applyToolScope', () => {
  it('null: allows every assembled tool', () =>
    expect(applyToolScope(assembled, null)).toEqual({ effective: assembled, dropped: [] }))

  it('[]: forbids every tool', () =>
    expect(applyToolScope(assembled, [])).toEqual({ effective: [], dropped: [] }))

  it('a list: keeps the tools that are assembled and allowed, in the order of the assembled', () => {
    expect(applyToolScope(assembled, ['exec', 'web_search'])).toEqual({
      effective: ['web_search', 'exec'],
      dropped: [],
    })
  })

  it('never adds a tool: allowed names that are not assembled are dropped, each once', () => {
    expect(applyToolScope(['exec'], ['root', 'exec', 'root', 'EXEC'])).toEqual({
      effective: ['exec'],
      dropped: ['root', 'EXEC'],
    })
    expect(applyToolScope([], ['exec'])).toEqual({ effective: [], dropped: ['exec'] })
  })

  it('is the intersection, and every allowed name is either effective or dropped', () => {
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', '__proto__'))
    fc.assert(
      fc.property(names, names, (tools, allowed) => {
        const { effective, dropped } = applyToolScope(tools, allowed)
        expect(effective).toEqual(tools.filter((name) => allowed.includes(name)))
        expect([...effective, ...dropped].toSorted()).toEqual(allowed.toSorted())
      }),
      { numRuns: 200 },
    )
  })
})
