import type { ChatMessage } from '@beaver/core'
import { expect, it } from 'vitest'
import { systemPrompt } from '../context/context-builder.ts'
import { beginningOf } from './chat-provider.ts'

const prompt = (sessionId: string, own = 'You write.'): string =>
  systemPrompt({
    ...{
      mark: `m${sessionId}`,
      agentName: 'root',
      sessionId,
      taskId: `task-of-${sessionId}`,
      workspace: '/w',
      at: { ms: 0, timeZone: null },
    },
    ...{ worker: false, teams: true, offers: () => true, own, memory: { memory: [], user: [] }, routing: [] },
  })
const of = (sessionId: string, node_id: string | null = null, content = prompt(sessionId)) =>
  beginningOf(sessionId, { node_id }, [
    { role: 'system', content } satisfies ChatMessage,
    { role: 'user', content: 'x' },
  ])

it('the key is the same for an agent of a session, and no id can be read in it', () => {
  expect(of('a')).toEqual(of('a'))
  expect(
    new Set([of('a'), of('b'), of('a', 'writer'), of('a', 'null'), of('writer', 'a')].map(({ key }) => key))
      .size,
  ).toBe(5)
  expect(of('49-170-1234567').key).toMatch(/^[0-9a-f]{32}$/)
})

it('the shared part of a system prompt is what two sessions have in common', () => {
  const [a, b] = [prompt('a'), prompt('b')]
  const { sharedChars } = of('a')
  expect(a.slice(0, sharedChars)).toBe(b.slice(0, sharedChars))
  expect(a.slice(sharedChars)).toMatch(/^\n\n# Session\n- session: a/)
  // What a person writes about an agent may look like the section.
  const own = 'Say:\n\n# Session\n- session: none'
  expect(prompt('a', own).slice(0, of('a', null, prompt('a', own)).sharedChars)).toContain('session: none')
  expect(of('a', null, 'a prompt of another version').sharedChars).toBe(0)
  expect(beginningOf('a', { node_id: null }, []).sharedChars).toBe(0)
})
