// Given a provider that refuses the schemas of tools, when a loop asks it, then the loop goes on without
// these tools.
import { rootSpec, says } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, type Loop, probe, resumed } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'

const refuses = (...names: readonly string[]) =>
  new ProviderError('provider_refused', 'no', {
    status: 400,
    refusedTools: names.map((name) => ({ name, reason: `The schema of ${name} is bad.` })),
  })
const tools = ['one', 'two', 'three'].map((name) => probe(name, () => name))
const sent = (loop: Loop) =>
  loop.provider.requests.map((request) =>
    request.tools.map(({ name }) => name).filter((name) => tools.some((tool) => tool.name === name)),
  )
const leftOut = (loop: Loop) =>
  loop.host.events.flatMap((event) => (event.type === 'tools_left_out' ? [event.data] : []))

describe('a tool whose schema the provider refuses', () => {
  it('is left out of the next requests, which is recorded with the reason, and the run completes', async () => {
    const loop = begin({
      tools,
      replies: [refuses('two'), { toolCalls: [{ id: 'c', name: 'one', arguments: '{}' }] }, says('done')],
    })
    expect((await loop.end).status).toBe('completed')
    expect(sent(loop)).toEqual([
      ['one', 'two', 'three'],
      ['one', 'three'],
      ['one', 'three'],
    ])
    expect(leftOut(loop)).toEqual([
      { provider_name: 'scripted', tools: [{ name: 'two', reason: 'The schema of two is bad.' }] },
    ])
    expect(loop.host.events.filter(({ type }) => type === 'provider_call_failed')).toEqual([])
  })

  it('is followed by others, one after the other or together', async () => {
    const loop = begin({ tools, replies: [refuses('one'), refuses('two', 'three'), says('done')] })
    expect((await loop.end).status).toBe('completed')
    expect(sent(loop).at(-1)).toEqual([])
  })

  it('that was left out already ends the run, instead of a request without end', async () => {
    const loop = begin({ tools, replies: [refuses('one'), refuses('one')] })
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: 'provider_refused' } })
    expect(loop.provider.repliesLeft).toBe(0)
  })

  it('is offered to the fallback, which may take it', async () => {
    const down = new ProviderError('provider_unavailable', 'down', { status: 503 })
    const loop = begin({ tools, replies: [refuses('one'), down], fallback: [says('done')] })
    expect((await loop.end).status).toBe('completed')
    expect(loop.fallback.requests[0]?.tools.map(({ name }) => name)).toContain('one')
  })

  it('stays left out when the run is resumed in a process that knows nothing of it', async () => {
    const first = begin({
      tools,
      replies: [refuses('two'), { toolCalls: [{ id: 'c', name: 'one', arguments: '{}' }] }, says('done')],
    })
    await first.end
    const at = first.host.entries.findIndex((entry) => entry.some(({ type }) => type === 'tools_left_out'))
    const again = resumed(first.host.entries.slice(0, at + 1), {
      tools,
      replies: first.provider.requests
        .slice(1)
        .map(
          (_, i) => [{ toolCalls: [{ id: 'c', name: 'one', arguments: '{}' }] }, says('done')][i] ?? says(''),
        ),
    })
    expect((await again.end).status).toBe('completed')
    expect(again.provider.requests.map(({ tools: each }) => each)).toEqual(
      first.provider.requests.slice(1).map(({ tools: each }) => each),
    )
  })
})

it('a later run of the same thread leaves the tool out before it asks, and records that', async () => {
  const loop = begin({ tools, replies: [refuses('two'), says('a')] })
  await loop.end
  const services = loop.services
  const later = begin({ tools, replies: [says('b')], toolboxesOf: services, spec: rootSpec() })
  await later.end
  expect(sent(later)).toEqual([['one', 'three']])
  expect(leftOut(later)).toEqual(leftOut(loop))
})
