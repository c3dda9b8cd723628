import type { ReadSource } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { knowledgeTool } from './knowledge.ts'

const tool = knowledgeTool({
  id: 'handbook',
  description: 'The rules.',
  untrusted: false,
  folder: '/srv/docs',
})

describe('the tool of a knowledge base', () => {
  it('has the id as its name, and shows a person what is searched', () => {
    expect([tool.name, tool.effects, tool.reads]).toEqual(['kb:handbook', 'reads', 'own'])
    expect([tool.subject?.({ query: 'who is ill?' }), tool.subject?.({ query: 7 })]).toEqual([
      'who is ill?',
      null,
    ])
    expect(tool.description).toContain('The rules.')
    expect(knowledgeTool({ id: 'forum', description: 'd', untrusted: true, folder: '/f' }).reads).toBe(
      'untrusted',
    )
  })

  test.each<[object, boolean]>([
    [{ query: 'x' }, true],
    [{ query: 'x', limit: 20 }, true],
    [{}, false],
    [{ query: '' }, false],
    [{ query: 'x'.repeat(1_001) }, false],
    [{ query: 'x', limit: 0 }, false],
    [{ query: 'x', limit: 21 }, false],
    [{ query: 'x', limit: 1.5 }, false],
    [{ query: 'x', knowledge_base: 'payroll' }, false],
    [{ query: ['x'] }, false],
  ])('with %j fits: %j', (args, fits) => expect(tool.inputFault?.(args) === null).toBe(fits))

  const told = async (content: string): Promise<readonly string[]> => {
    const sources: ReadSource[] = []
    const callExternal = () => Promise.resolve({ success: true, content, error: null })
    await tool.invoke(
      { query: 'x' },
      toolContext({ callExternal, reads: (source) => void sources.push(source) }),
    )
    return sources.flatMap((source) => ('files' in source ? source.files : []))
  }

  it('tells the files of a result as rules may name them', async () => {
    const content = JSON.stringify({ passages: [{ source: 'kb:handbook/inbox/a:1.md:3-4', text: 't' }] })
    expect(await told(content)).toEqual(['inbox/a:1.md', 'docs/inbox/a:1.md', '/srv/docs/inbox/a:1.md'])
    expect(await told(content.slice(0, -8))).toHaveLength(3)
    const quoted = JSON.stringify({
      passages: [
        { source: 'kb:handbook/a "b".md:1-1', text: JSON.stringify({ source: 'kb:handbook/.env:1-1' }) },
      ],
    })
    expect((await told(quoted))[0]).toBe('a "b".md')
    expect(await told(quoted)).toHaveLength(3)
    for (const other of ['', 'no JSON', 'null', '{"passages":7}', '{"source":7}', '{"source":"elsewhere"}'])
      expect(await told(other)).toEqual([])
  })
})
