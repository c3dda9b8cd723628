import { describe, expect, test } from 'vitest'
import type { ToolSchema } from '../provider/chat-provider.ts'
import { meantCall, offerTools, offeredMax, throughUseTool } from './further-tools.ts'

const schema = (name: string, description = name): ToolSchema => ({
  name,
  description,
  parameters: { type: 'object', properties: {} },
})
const many = (n: number, prefix = 'tool'): ToolSchema[] =>
  Array.from({ length: n }, (_, i) => schema(`${prefix}_${i}`))
const external = (name: string): boolean => name.startsWith('mcp')

describe('the tools of a request', () => {
  test('are all of them while they are few', () => {
    const few = many(offeredMax)
    expect(offerTools(few, () => true)).toEqual({ offered: few, further: new Set(), helpers: [] })
  })

  test('leave out external tools first, then the last ones, and never reach 128', () => {
    const own = many(3, 'own')
    const mixed = offerTools([...many(500, 'mcp'), ...own], external)
    expect(mixed.offered.map(({ name }) => name)).toEqual([
      'own_0',
      'own_1',
      'own_2',
      'find_tools',
      'use_tool',
    ])
    expect(mixed.further.size).toBe(500)
    const large = offerTools(many(10_000), external)
    expect(large.offered).toHaveLength(offeredMax + 2)
    expect(large.further.has('tool_9999')).toBe(true)
  })
})

describe('find_tools', () => {
  const tools = [
    ...many(60, 'mcp_x'),
    schema('mcp_github_search_issues', 'Searches issues.'),
    schema('mcp_mail_send', 'Sends a mail.'),
    schema('mcp_wiki', '搜索维基'),
  ]
  const [finds] = offerTools(tools, external).helpers
  const found = async (query: string): Promise<{ tools: ToolSchema[]; names?: string[] }> =>
    JSON.parse((await finds?.invoke({ query }, {} as never)) ?? '') as {
      tools: ToolSchema[]
      names?: string[]
    }

  test('finds tools by words of their name or description, with their schemas, and a bounded number', async () => {
    expect((await found('search github issues')).tools[0]).toEqual(
      schema('mcp_github_search_issues', 'Searches issues.'),
    )
    expect((await found('SEND')).tools.map(({ name }) => name)).toEqual(['mcp_mail_send'])
    expect((await found('维基')).tools.map(({ name }) => name)).toEqual(['mcp_wiki'])
    expect((await found('mcp')).tools).toHaveLength(8)
  })

  test('names what there is if nothing fits, whatever is asked', async () => {
    for (const query of ['nothing_of_that_kind', '', '"; drop', '(('])
      expect(await found(query)).toEqual({ tools: [], names: tools.map(({ name }) => name) })
  })
})

describe('a call of a further tool', () => {
  const further = new Set(['mcp_mail_send'])
  const call = (args: string) => ({ id: 'c', name: 'use_tool', arguments: args })

  test('is meant for the tool that it names, and goes to the provider as it came', () => {
    const sent = call('{"name":"mcp_mail_send","arguments":{"to":"a"}}')
    const meant = meantCall(sent, further)
    expect(meant).toEqual({ id: 'c', name: 'mcp_mail_send', arguments: '{"to":"a"}' })
    const message = { role: 'assistant' as const, content: null, tool_calls: [meant] }
    expect(throughUseTool([message], further)).toEqual([{ ...message, tool_calls: [sent] }])
    expect(throughUseTool([message], new Set())).toEqual([message])
  })

  test('that a model wrote in another form is meant, too, or stays and is refused', () => {
    expect(
      meantCall(call('{"name":"mcp_mail_send","arguments":"{\\"to\\":\\"a\\"}"}'), further),
    ).toMatchObject({
      name: 'mcp_mail_send',
      arguments: '{"to":"a"}',
    })
    expect(meantCall(call('{"name":"mcp_mail_send"}'), further)).toMatchObject({
      name: 'mcp_mail_send',
      arguments: '{}',
    })
    for (const args of [
      '',
      'null',
      '[]',
      '{',
      '7',
      '{"name":7}',
      '{"name":"use_tool"}',
      '{"name":"read_file","arguments":{}}',
    ])
      expect(meantCall(call(args), further)).toEqual(call(args))
  })
})
