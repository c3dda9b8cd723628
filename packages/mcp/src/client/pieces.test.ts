// The pure pieces of a connection.
import type { ExternalTools } from '@beaver/agent'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failureOf, resultOf } from './call-result.ts'
import { joinExternalTools } from './join-external-tools.ts'
import { lineSplitter } from './child-transport.ts'
import { offeredName } from './start-mcp-servers.ts'
import { expand } from './server-spec.ts'

// fast-check's own `binary` takes seconds to set up.
const characters = fc.constantFrom(
  'a',
  'Z',
  '9',
  '_',
  '-',
  ' ',
  '.',
  ':',
  '/',
  '"',
  '\0',
  '\t',
  'é',
  '工',
  '😀',
  '\u2028',
)
const noNames = { servers: ['a'], reserved: new Set<string>() }

describe('the name a tool is offered under', () => {
  it('is server and tool where that fits', () =>
    expect(offeredName('github', 'search_issues', noNames)).toBe('github_search_issues'))

  it.each([
    ['has odd characters', 'search issues', noNames],
    ['is too long', 'x'.repeat(80), noNames],
    ['is one of our own', 'file', { servers: ['read'], reserved: new Set(['a_file']) }],
    ['could be that of another server', 'b_c', { servers: ['a', 'a_b'], reserved: new Set<string>() }],
    [
      'is that of a workflow tool',
      'local_team_workflow_mcp_GraphWorkflow',
      { servers: ['mcp'], reserved: new Set<string>() },
    ],
  ])('ends in a hash when it %s', (_, tool, names) => {
    const server = names.servers[0] === 'mcp' ? 'mcp' : 'a'
    expect(offeredName(server, tool, names)).toMatch(/^[a-zA-Z0-9_-]{1,55}_[0-9a-f]{8}$/)
  })

  it('always fits a provider, and is never that of another tool', () => {
    const few = fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom('a', '_') })
    const tool = fc.oneof(fc.string({ minLength: 1, maxLength: 100, unit: characters }), few, few)
    const server = fc.oneof(
      fc.string({ minLength: 1, maxLength: 32, unit: fc.constantFrom('a', 'Z', '0', '_', '-') }),
      few,
      few,
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(server, tool), { maxLength: 12 }), (pairs) => {
        const names = { servers: pairs.map(([name]) => name), reserved: new Set<string>() }
        const offered = new Map<string, string>()
        for (const [name, each] of pairs) {
          const given = offeredName(name, each, names)
          const key = JSON.stringify([name, each])
          if (!/^[a-zA-Z0-9_-]{1,64}$/.test(given) || (offered.get(given) ?? key) !== key) return false
          offered.set(given, key)
        }
        return true
      }),
    )
  })
})

describe('lines', () => {
  it('come out as they were written, however the bytes were cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: characters })), fc.array(fc.nat(20)), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const seen: string[] = []
        const split = lineSplitter(10_000, (line) => seen.push(line))
        let at = 0
        for (const cut of cuts) expect(split(bytes.subarray(at, (at += cut)))).toBe(true)
        split(bytes.subarray(at))
        expect(seen).toEqual(lines.filter((line) => line !== ''))
      }),
    )
  })

  it('end the splitting when one is too long, in one piece or in many', () => {
    const seen: string[] = []
    const split = lineSplitter(5, (line) => seen.push(line))
    expect(split(Buffer.from('12345\nabc'))).toBe(true)
    expect(split(Buffer.from('def'))).toBe(false)
    expect(split(Buffer.from('\nok\n'))).toBe(false)
    expect(seen).toEqual(['12345'])
  })
})

describe('variables', () => {
  it('are replaced anywhere in a value', () => {
    expect(expand('Bearer $TOKEN, ${TOKEN}s for $$5', { TOKEN: 'abc' })).toBe('Bearer abc, abcs for $5')
    expect(expand('$A', { A: '$B' })).toBe('$B')
  })

  it('that are not set are an error that names them', () =>
    expect(() => expand('x $NOPE', {})).toThrow('The environment variable NOPE is not set'))
})

describe('a result', () => {
  it('does not repeat structured content that stands there as text', () => {
    const structuredContent = { total: 3 }
    expect(resultOf({ content: [{ type: 'text', text: '{ "total": 3 }' }], structuredContent }).content).toBe(
      '{ "total": 3 }',
    )
  })

  it('shows its images, and those of its resources, and no other bytes', () => {
    const data = Buffer.from('GIF89a').toString('base64')
    const blob = (mimeType: string) => ({
      type: 'resource' as const,
      resource: { uri: `file:///a.${mimeType}`, mimeType, blob: data },
    })
    const content = [
      { type: 'image' as const, mimeType: 'image/gif', data },
      blob('image/png'),
      blob('text/csv'),
    ]
    const images = [
      { content: new Uint8Array(Buffer.from('GIF89a')), name: '#1' },
      { content: new Uint8Array(Buffer.from('GIF89a')), name: 'file:///a.image/png' },
    ]
    expect(resultOf({ content })).toEqual({
      success: true,
      content:
        '[image #1, image/gif, 6 bytes]\n[resource file:///a.image/png, image/png, 6 bytes]\n[resource file:///a.text/csv, text/csv, 6 bytes, not shown]',
      error: null,
      images,
    })
    const long = {
      type: 'resource' as const,
      resource: { uri: 'x'.repeat(10_000), mimeType: 'image/png', blob: data },
    }
    expect(resultOf({ content: [long] }).images?.[0]?.name).toHaveLength(200)
    expect(resultOf({ content, isError: true })).toMatchObject({ success: false, images })
    expect(resultOf({ content: [blob('text/csv')] })).not.toHaveProperty('images')
  })

  it('of nothing says so', () =>
    expect(resultOf({ content: [] })).toEqual({
      success: true,
      content: 'The tool gave an empty answer.',
      error: null,
    }))

  it('of a cancelled call is a cancel, whatever was thrown', () => {
    const call = { server: 's', tool: 't', timeoutMs: 1, signal: AbortSignal.abort() }
    expect(failureOf(new Error('x'), call)).toMatchObject({ result: { error: 'cancelled' }, lost: 'no' })
  })
})

describe('several suppliers of tools', () => {
  const supplier = (name: string): ExternalTools & { change(): void } => {
    const listeners = new Set<() => void>()
    return {
      tools: [{ name, description: '', parameters: {}, idempotent: false, permission: 'allow' }],
      onChange: (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
      call: async (call) => ({ success: true, content: `${name} did ${call.name}`, error: null }),
      change: () => listeners.forEach((listener) => listener()),
    }
  }

  it('are one: calls go to whom the tool is of, unknown ones to the last, changes of each are told until that is ended', async () => {
    const [a, b] = [supplier('a'), supplier('b')]
    const joined = joinExternalTools([a, b])
    const call = async (name: string) =>
      (await joined.call({ name, callId: 'c', arguments: {} }, new AbortController().signal)).content
    expect(joined.tools.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(await Promise.all(['a', 'b', 'z'].map(call))).toEqual(['a did a', 'b did b', 'b did z'])
    let told = 0
    const end = joined.onChange(() => told++)
    a.change()
    b.change()
    end()
    a.change()
    expect(told).toBe(2)
  })
})
