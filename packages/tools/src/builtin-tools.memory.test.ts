import { executeTool, type ToolResult } from '@beaver/agent'
import { changeMemory, emptyMemory, type MemoryAnswer, type MemoryChange, systemClock } from '@beaver/core'
import { toolContext } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { memory } from './builtin-tools.ts'

const call = (args: unknown, answer: (change: MemoryChange) => MemoryAnswer): Promise<ToolResult> =>
  executeTool(
    memory,
    { name: 'memory', arguments: JSON.stringify(args) },
    toolContext({ memory: async (change) => answer(change) }),
    {
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      clock: systemClock,
    },
  )
const decided = (change: MemoryChange): MemoryAnswer =>
  changeMemory({ ...emptyMemory, memory: ['uses vim', 'likes tea'] }, change, { memory: 30, user: 30 }).answer
const never = (): MemoryAnswer => {
  throw new Error('the store was asked')
}

describe('memory', () => {
  it.each<[MemoryChange, unknown]>([
    [
      { action: 'add', target: 'user', content: 'is called Ada' },
      { target: 'user', changed: true, entries: ['is called Ada'], chars_used: 13, chars_max: 30 },
    ],
    [
      { action: 'replace', target: 'memory', old_text: 'vim', content: 'uses helix' },
      {
        target: 'memory',
        changed: true,
        entries: ['uses helix', 'likes tea'],
        chars_used: 19,
        chars_max: 30,
      },
    ],
    [
      { action: 'remove', target: 'memory', old_text: 'tea' },
      { target: 'memory', changed: true, entries: ['uses vim'], chars_used: 8, chars_max: 30 },
    ],
    [
      { action: 'add', target: 'memory', content: 'likes tea' },
      { target: 'memory', changed: false, entries: ['uses vim', 'likes tea'], chars_used: 17, chars_max: 30 },
    ],
  ])('%j is told with the entries and the figures', async (change, told) => {
    const asked: MemoryChange[] = []
    const result = await call(change, (each) => (asked.push(each), decided(each)))
    expect(asked).toEqual([change])
    expect(result.success).toBe(true)
    expect(JSON.parse(result.content)).toEqual(told)
  })

  it.each([
    [{ action: 'remove', target: 'memory', old_text: 'e' }, 'ambiguous_match', '"uses vim", "likes tea"'],
    [{ action: 'remove', target: 'memory', old_text: 'coffee' }, 'no_match', 'Entries:'],
    [
      { action: 'add', target: 'memory', content: 'x'.repeat(14) },
      'memory_full',
      'has 17 of 30 characters and would have 31',
    ],
    [{ action: 'add', target: 'memory', content: ' ' }, 'invalid_arguments', 'empty'],
  ])('%j is refused as the store refuses it', async (change, error, message) => {
    const result = await call(change, decided)
    expect(result).toMatchObject({ success: false, error })
    expect(result.content).toContain(JSON.stringify(message).slice(1, -1))
  })

  it.each([
    [{ action: 'add', target: 'memory' }, '\\"content\\" is missing: add needs it.'],
    [{ action: 'replace', target: 'memory', content: 'x' }, '\\"old_text\\" is missing: replace needs it.'],
    [{ action: 'remove', target: 'user' }, '\\"old_text\\" is missing'],
    [{ action: 'list', target: 'memory' }, 'action'],
    [{ action: 'add', target: 'work', content: 'x' }, 'target'],
    [{ action: 'add', target: 'memory', content: 1 }, 'content'],
    [{}, 'action'],
  ])('%j does not reach the store', async (args, message) => {
    const result = await call(args, never)
    expect(result).toMatchObject({ success: false, error: 'invalid_arguments' })
    expect(result.content).toContain(message)
  })
})
