import { createTeamWorkflowTools } from '@beaver/workflows'
import { describe, expect, it, test } from 'vitest'
import { definition } from '../../test/definition.ts'
import { sampleTools } from '../../test/sample-tools.ts'
import { catalogEntries, defaultInventory, resolveInventory, type ToolCatalog } from './inventory.ts'

const catalog: ToolCatalog = {
  tools: sampleTools,
  definitions: [definition('summarize_text'), definition('摘要')],
}
const names = (tools: readonly { readonly name: string }[]): string[] => tools.map(({ name }) => name)
const told = (ids: readonly string[], of = catalog) =>
  resolveInventory(ids, of).diagnostics.map(({ code, index }) => [code, index])
const sentence = (id: string, of = catalog): string =>
  resolveInventory([id], of).diagnostics[0]?.message ?? ''

describe('an inventory', () => {
  it('brings the tools its ids name, each in its kind and in the order of the ids', () => {
    const { tools, teamWorkflows, definitions, diagnostics } = resolveInventory(
      [
        'workflow:摘要',
        'system:recount_files',
        'system:GraphWorkflow',
        'system:read_file',
        'workflow:summarize_text',
        'system:SequentialWorkflow',
      ],
      catalog,
    )
    expect(names(tools)).toEqual(['recount_files', 'read_file'])
    expect(names(teamWorkflows)).toEqual(['GraphWorkflow', 'SequentialWorkflow'])
    expect(names(definitions)).toEqual(['workflow:摘要', 'workflow:summarize_text'])
    expect(diagnostics).toEqual([])
  })

  it('that is empty brings nothing', () => {
    expect(resolveInventory([], catalog)).toEqual({
      tools: [],
      teamWorkflows: [],
      definitions: [],
      diagnostics: [],
    })
  })

  test.each<[string, string, string]>([
    ['read_file', 'prefix_missing', 'Did you mean "system:read_file"?'],
    ['summarize_text', 'prefix_missing', 'Did you mean "workflow:summarize_text"?'],
    ['nonsense', 'prefix_missing', 'The prefixes are "system:"'],
    ['', 'prefix_missing', 'The tool id "" has no prefix'],
    ['mcp:read_file', 'unknown_prefix', '"mcp:"'],
    [':read_file', 'unknown_prefix', '":"'],
    ['System:read_file', 'unknown_prefix', '"System:"'],
    ['system:read_fil', 'unknown_tool', 'There are system:list_files, system:read_file'],
    ['system:Read_File', 'unknown_tool', 'Did you mean "system:read_file"?'],
    ['system:', 'unknown_tool', '"system:" does not name a tool'],
    ['system:toString', 'unknown_tool', 'does not name a tool'],
    ['system:summarize_text', 'unknown_tool', 'Did you mean "workflow:summarize_text"?'],
    ['system:AgentTeam', 'unknown_tool', 'Submit it as a task'],
    ['workflow:nothing', 'unknown_tool', 'There are workflow:summarize_text, workflow:摘要.'],
    ['workflow:SequentialWorkflow', 'unknown_tool', 'Did you mean "system:SequentialWorkflow"?'],
    ['kb:Query', 'knowledge_base_missing', 'There is none. Name its folder in "knowledge_bases"'],
  ])('with the id %j says %s, and brings the others', (id, code, says) => {
    const { tools, diagnostics } = resolveInventory(['system:echo', id, 'system:read_file'], catalog)
    expect(names(tools)).toEqual(['echo', 'read_file'])
    expect(diagnostics).toMatchObject([{ code, index: 1 }])
    expect(diagnostics[0]?.message).toContain(says)
  })

  it('lists a knowledge base by its id, and by no other', () => {
    const bases = ['kb:handbook', 'kb:contracts'].map((name) => ({
      ...(sampleTools[0] as (typeof sampleTools)[0]),
      name,
    }))
    const withBases = { ...catalog, tools: [...catalog.tools, ...bases] }
    expect(names(resolveInventory(['kb:contracts', 'system:echo'], withBases).tools)).toEqual([
      'kb:contracts',
      'echo',
    ])
    expect(sentence('kb:Handbook', withBases)).toContain('Did you mean "kb:handbook"?')
    expect(sentence('kb:laws', withBases)).toContain('There are kb:handbook, kb:contracts.')
    expect(sentence('handbook', withBases)).toContain('Did you mean "kb:handbook"?')
    expect(told(['system:kb:handbook', 'system:handbook'], withBases)).toEqual([
      ['unknown_tool', 0],
      ['unknown_tool', 1],
    ])
    expect(catalogEntries(withBases).map(({ id }) => id)).toEqual(
      expect.arrayContaining(['kb:handbook', 'kb:contracts']),
    )
  })

  it('that lists a tool twice, under whatever name, brings it once', () => {
    const ids = [
      'system:GraphWorkflow',
      'system:echo',
      'system:mcp_local_team_workflow_mcp_GraphWorkflow',
      'system:echo',
    ]
    expect(names(resolveInventory(ids, catalog).teamWorkflows)).toEqual(['GraphWorkflow'])
    expect(told(ids)).toEqual([
      ['listed_twice', 2],
      ['listed_twice', 3],
    ])
  })

  it('without definition files says where they come from', () => {
    expect(sentence('workflow:x', { ...catalog, definitions: [] })).toContain(
      '"workflows" of the configuration',
    )
  })
})

describe('what there is', () => {
  it('is every id an inventory may list: each brings itself', () => {
    const entries = catalogEntries(catalog)
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
    for (const { id, kind, schema } of entries) {
      const { tools, teamWorkflows, definitions, diagnostics } = resolveInventory([id], catalog)
      expect(diagnostics).toEqual([])
      expect(names({ tool: tools, team_workflow: teamWorkflows, workflow: definitions }[kind])).toEqual([
        schema.name,
      ])
    }
  })

  it('has the name of a workflow as its id, and of a built-in tool without the prefix', () => {
    const nameOf = new Map(catalogEntries(catalog).map(({ id, schema }) => [id, schema.name]))
    expect([nameOf.get('workflow:summarize_text'), nameOf.get('system:read_file')]).toEqual([
      'workflow:summarize_text',
      'read_file',
    ])
  })

  it('without a profile is every built-in tool and the five workflow tools, and no definition', () => {
    const { tools, teamWorkflows, definitions } = defaultInventory(catalog)
    expect(names(tools)).toEqual(names(sampleTools))
    expect(names(teamWorkflows)).toEqual(names(createTeamWorkflowTools()))
    expect(definitions).toEqual([])
  })
})
