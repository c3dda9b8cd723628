import type { ToolContext } from '@beaver/agent/tool-kit'
import { executeTool, type ToolResult } from '@beaver/agent'
import { BeaverError, type SessionSearchHit, systemClock } from '@beaver/core'
import { toolContext } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { sessionSearch } from './builtin-tools.ts'

const hit: SessionSearchHit = {
  session_id: 'web:会话',
  task_id: 't1',
  role: 'user',
  excerpt: '…季度 "销售额"…',
  at: '2026-01-01T00:00:00.000Z',
}
const call = (args: unknown, searchSessions: ToolContext['searchSessions']): Promise<ToolResult> =>
  executeTool(
    sessionSearch,
    { name: 'session_search', arguments: JSON.stringify(args) },
    toolContext({ searchSessions }),
    {
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      clock: systemClock,
    },
  )
const asked = async (args: unknown): Promise<unknown> => {
  let request: unknown = null
  await call(args, async (of) => ((request = of), []))
  return request
}

describe('session_search', () => {
  it('gives what was found as JSON', async () => {
    const result = await call({ query: '销售额' }, async () => [hit])
    expect(result.success).toBe(true)
    expect(JSON.parse(result.content)).toEqual({ query: '销售额', matches: [hit] })
  })

  it('asks for ten matches outside of its own session, unless told otherwise', async () => {
    expect(await asked({ query: 'a' })).toEqual({ query: 'a', limit: 10, includeCurrent: false })
    expect(await asked({ query: '', limit: 3, include_current: true })).toEqual({
      query: '',
      limit: 3,
      includeCurrent: true,
    })
  })

  it.each([
    [0, 1],
    [-5, 1],
    [1, 1],
    [2.9, 2],
    [50, 50],
    [51, 50],
    [1e300, 50],
    ['3', 3],
    ['-1', 1],
    ['1e9', 50],
  ])('a limit of %j is one of %d', async (limit, expected) =>
    expect(await asked({ query: 'a', limit })).toMatchObject({ limit: expected }),
  )

  it('says that it could not search when nobody answers', async () => {
    const result = await call({ query: 'a' }, () =>
      Promise.reject(new BeaverError('no_daemon', 'No projector answers.')),
    )
    expect(result).toMatchObject({ success: false, error: 'session_search_failed' })
    expect(result.content).toContain('The sessions could not be searched: No projector answers.')
  })

  it.each([
    {},
    { query: 1 },
    { query: 'x'.repeat(1_001) },
    { query: 'a', limit: 'many' },
    { query: 'a', other: 1 },
  ])('refuses %j', async (args) => {
    expect(await call(args, () => Promise.reject(new Error('it was asked')))).toMatchObject({
      success: false,
      error: 'invalid_arguments',
    })
  })
})
