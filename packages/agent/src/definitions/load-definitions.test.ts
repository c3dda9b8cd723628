import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool, type Tool } from '../tools/tool.ts'
import { loadDefinitions } from './load-definitions.ts'

let root = ''
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'beaver-definitions-'))))
afterEach(() => rm(root, { recursive: true, force: true }))

type Files = Readonly<Record<string, unknown>>

/** Folders and their files; text is written as it is. */
async function load(folders: Readonly<Record<string, Files>>, tools?: readonly Tool[]) {
  for (const [folder, files] of Object.entries(folders)) {
    await mkdir(join(root, folder), { recursive: true })
    for (const [name, content] of Object.entries(files))
      await writeFile(
        join(root, folder, name),
        typeof content === 'string' ? content : JSON.stringify(content),
      )
  }
  const { definitions, diagnostics } = await loadDefinitions(
    Object.keys(folders).map((folder) => join(root, folder)),
    tools,
  )
  return {
    definitions,
    names: definitions.map(({ name }) => name),
    told: diagnostics.map(
      ({ file, severity, message }) => [file.slice(root.length + 1), severity, message] as const,
    ),
  }
}

const upper = (description = 'Writes it in capitals.') => ({
  description,
  interfaceInputs: { text: { dataFlowType: 'STRING', required: true, description: 'The text.' } },
  interfaceOutputs: { out: { dataFlowType: 'STRING' } },
  nodes: [{ id: 'out', kind: 'template', template: '{{ inputs.text }}!' }],
})
const calling = (id: string, inputs: object = { text: 'x' }) => ({
  description: `Calls ${id}.`,
  interfaceInputs: {},
  interfaceOutputs: { out: { dataFlowType: 'STRING' } },
  nodes: [{ id: 'out', kind: 'workflow', workflow: id, inputs }],
})

describe('definitions on disk', () => {
  it('are tools named by their files, in the order of their names', async () => {
    const { definitions, names, told } = await load({
      a: { 'upper.json': upper(), '摘要.json': `\uFEFF${JSON.stringify(upper())}`, 'A.b.json': upper() },
    })
    expect(told).toEqual([])
    expect(names).toEqual(['workflow:A.b', 'workflow:upper', 'workflow:摘要'])
    expect(definitions[1]).toMatchObject({
      description: 'Writes it in capitals.',
      parameters: { required: ['text'] },
    })
    expect(definitions[1]?.plan({ text: 'a' })).toMatchObject({
      ok: true,
      graph: { workflow: 'workflow:upper' },
    })
  })

  it('have one spelling, however the file system spells it', async () => {
    expect((await load({ a: { [`${'é'.normalize('NFD')}.json`]: upper() } })).names).toEqual([
      `workflow:${'é'.normalize('NFC')}`,
    ])
  })

  it('are files of one level that end in .json; links are followed', async () => {
    await mkdir(join(root, 'a', 'deeper.json'), { recursive: true })
    await writeFile(join(root, 'real'), JSON.stringify(upper()))
    await symlink(join(root, 'real'), join(root, 'a', 'linked.json'))
    const { names, told } = await load({
      a: { 'notes.md': '#', '.json': '{}', 'x.json.bak': '{' },
      'a/sub': { 'inner.json': upper() },
    })
    expect(names).toEqual(['workflow:inner', 'workflow:linked'])
    expect(told).toEqual([])
  })

  it('of the first folder win an id, and both files are named', async () => {
    const { definitions, told } = await load({
      first: { 'same.json': upper('one') },
      second: { 'same.json': upper('two'), 'other.json': upper() },
    })
    expect(definitions.map(({ name, description }) => [name, description])).toEqual([
      ['workflow:other', 'Writes it in capitals.'],
      ['workflow:same', 'one'],
    ])
    expect(told).toEqual([
      ['second/same.json', 'warning', expect.stringContaining(join(root, 'first/same.json'))],
    ])
  })

  it('that are broken keep no other from loading, and say what is wrong and where', async () => {
    const { names, told } = await load({
      a: {
        'bad.json': '{"nodes": ',
        'kind.json': { ...upper(), nodes: [{ id: 'out', kind: 'nonsense' }] },
        'list.json': [],
        'upper.json': upper(),
        'dangling.json': '',
      },
    })
    expect(names).toEqual(['workflow:upper'])
    expect([...new Set(told.map(([file, severity]) => `${severity} ${file}`))]).toEqual([
      'error a/bad.json',
      'error a/dangling.json',
      'error a/kind.json',
      'error a/list.json',
    ])
    expect(told.find(([file]) => file === 'a/kind.json')?.[2]).toMatch(/^nodes\.0/)
    expect(told[0]?.[2]).toContain('not JSON')
  })

  it('of a folder that is not there are none, and it is named', async () => {
    const { definitions, diagnostics } = await loadDefinitions([join(root, 'gone')])
    expect(definitions).toEqual([])
    expect(diagnostics).toMatchObject([{ file: join(root, 'gone'), severity: 'error' }])
  })
})

describe('a definition that calls another', () => {
  it('is a tool when the other is there, whichever is read first', async () => {
    expect(
      (await load({ a: { 'a.json': calling('upper'), 'upper.json': upper(), 'z.json': calling('upper') } }))
        .names,
    ).toEqual(['workflow:a', 'workflow:upper', 'workflow:z'])
  })

  it('is left out when the other is not there, and so is what calls it', async () => {
    const { names, told } = await load({
      a: {
        'a.json': calling('b', {}),
        'b.json': calling('c', {}),
        'c.json': calling('gone', {}),
        'upper.json': upper(),
      },
    })
    expect(names).toEqual(['workflow:upper'])
    expect(told.map(([file, severity]) => [file, severity])).toEqual([
      ['a/c.json', 'error'],
      ['a/b.json', 'error'],
      ['a/a.json', 'error'],
    ])
    expect(told.map(([, , message]) => message.includes('left out'))).toEqual([false, true, true])
  })

  it('is left out when it calls itself in the end (D-12)', async () => {
    const { names, told } = await load({
      a: { 'a.json': calling('b', {}), 'b.json': calling('a', {}), 'upper.json': upper() },
    })
    expect(names).toEqual(['workflow:upper'])
    expect(told.map(([file]) => file)).toEqual(['a/a.json', 'a/b.json'])
  })
})

describe('what a definition says about tools', () => {
  const fetch = defineTool({
    name: 'fetch',
    description: 'd',
    input: z.strictObject({ url: z.string(), max: z.number().optional() }),
    run: () => '',
  })
  const step = (node: object) => ({ ...upper(), nodes: [{ id: 'out', ...node }] })
  const call = (args: object, tool = 'fetch') => step({ kind: 'tool', tool, arguments: args })
  const agent = (more: object) => step({ kind: 'agent', instruction: 'i', ...more })
  const evidence = [{ kind: 'tool_succeeded', tool: 'fetch' }]

  it.each<[string, object, 'error' | 'warning' | null, string]>([
    ['arguments that fit', call({ url: 'u' }), null, ''],
    ['arguments that are computed', call({ url: '{{ inputs.text }}', max: 3 }), null, ''],
    ['an unknown tool', call({}, 'fetsch'), 'warning', 'nodes.0.tool: There is no tool "fetsch" now.'],
    [
      'a missing argument',
      call({ max: 3 }),
      'error',
      'nodes.0.arguments: The arguments of fetch do not fit: ',
    ],
    ['a missing argument beside a computed one', call({ max: '{{ 1 }}' }), 'error', '"url" is missing'],
    [
      'an unknown argument beside a computed one',
      call({ url: '{{ inputs.text }}', uri: 'x' }),
      'error',
      '"uri" is not one of url, max',
    ],
    [
      'a wrong type beside a computed one',
      call({ url: '{{ inputs.text }}', max: 'three' }),
      'error',
      '"max" does not fit',
    ],
    [
      'the body of a map',
      step({ kind: 'map', items: '{{ [1] }}', body: { kind: 'tool', tool: 'fetch', arguments: {} } }),
      'error',
      'nodes.0.body.arguments',
    ],
    [
      'evidence within its scope',
      agent({ allowedToolNames: ['fetch'], requiredEvidence: evidence }),
      null,
      '',
    ],
    ['evidence without a scope', agent({ requiredEvidence: evidence }), null, ''],
    [
      'evidence that its scope excludes',
      agent({ allowedToolNames: ['read'], requiredEvidence: evidence }),
      'error',
      'nodes.0.requiredEvidence.0: It needs a call of fetch',
    ],
    [
      'rules that its scope excludes',
      agent({ allowedToolNames: [], validationRules: evidence }),
      'error',
      'may only call no tool',
    ],
  ])('%s', async (_, file, severity, says) => {
    const { names, told } = await load({ a: { 'it.json': file } }, [fetch])
    expect(told).toEqual(
      severity === null ? [] : [[join('a', 'it.json'), severity, expect.stringContaining(says)]],
    )
    expect(names).toEqual(severity === 'error' ? [] : ['workflow:it'])
  })

  it('a call of a workflow whose file is broken says so', async () => {
    const { told } = await load({
      a: { 'upper.json': '{', 'call.json': calling('upper'), 'other.json': calling('gone') },
    })
    const of = (file: string) => told.find(([each]) => each === join('a', file))?.[2]
    expect(of('call.json')).toContain(`Its file is broken: ${join(root, 'a', 'upper.json')}.`)
    expect(of('other.json')).not.toContain('broken')
  })
})
