import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EvidenceRequirement } from '@beaver/core/evidence'
import type { RecordedEvent } from '@beaver/core/journal'
import { evaluateEvidence } from '@beaver/evidence'
import { calls, type MemoryHost, memoryHost, rootSpec, says, workerSpec } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { begin, probe, turns } from '../../test/loop-kit.ts'
import { defineTool } from '../tools/tool.ts'
import { z } from 'zod'

let workspace = ''
beforeAll(async () => {
  workspace = await mkdtemp(join(tmpdir(), 'beaver-evidence-'))
})
afterAll(() => rm(workspace, { recursive: true, force: true }))

const write = defineTool({
  name: 'write',
  description: 'Writes a file.',
  input: z.strictObject({ path: z.string() }),
  run: async ({ path }) => (await writeFile(join(workspace, path), 'text'), 'written'),
})
const worker = (requiredEvidence: readonly EvidenceRequirement[], over: object = {}) =>
  workerSpec({ workspace, part: { requiredEvidence }, ...over })
const eventOf = <T extends RecordedEvent['type']>(host: MemoryHost, type: T) =>
  host.events.find((event) => event.type === type) as Extract<RecordedEvent, { type: T }> | undefined

describe('files_exist', () => {
  const wants: EvidenceRequirement = { kind: 'files_exist', paths: ['report.md'] }

  it('what the workspace holds is journaled after the last answer and before the end, and the gate reads it', async () => {
    const loop = begin({
      replies: [calls(['write', { path: 'report.md' }]), says('I wrote report.md.')],
      tools: [write],
      spec: worker([wants]),
    })
    const end = await loop.end
    expect(loop.host.types.slice(-3)).toEqual([
      'assistant_message_added',
      'workspace_files_checked',
      'run_completed',
    ])
    const looked = eventOf(loop.host, 'workspace_files_checked')
    expect(looked?.data.files).toEqual([{ path: 'report.md', found: 'file', bytes: 4 }])
    expect(evaluateEvidence([wants], end.facts)).toMatchObject({
      passed: true,
      checks: [{ rests_on: [looked?.taskseq] }],
    })
  })

  it('a claim without a file fails the gate', async () => {
    const never: EvidenceRequirement = { kind: 'files_exist', paths: ['never.md'] }
    const { end } = begin({ replies: [says('I wrote never.md.')], spec: worker([never]) })
    expect(evaluateEvidence([never], (await end).facts)).toMatchObject({
      passed: false,
      checks: [{ detail: '1 of 1 required file missing: "never.md" is not there.' }],
    })
  })

  it('a rule for the output is read as well', async () => {
    const { end, host } = begin({
      replies: [says('done')],
      spec: workerSpec({ workspace, part: { validationRules: [wants] } }),
    })
    await end
    expect(host.types).toContain('workspace_files_checked')
  })

  it('nobody looks when nothing asks for it, nor for a run that failed', async () => {
    const plain = begin({ replies: [says('done')], spec: worker(['a file is written']) })
    const failed = begin({ replies: [says('')], spec: worker([wants]) })
    await Promise.all([plain.end, failed.end])
    for (const { host } of [plain, failed]) expect(host.types).not.toContain('workspace_files_checked')
    expect(failed.host.types.at(-1)).toBe('run_failed')
  })

  it('a run taken up between its answer and the look looks, and asks no model again', async () => {
    const first = begin({ replies: [says('done')], spec: worker([wants]), host: memoryHost() })
    await first.end
    const answered = first.host.events.filter(
      (event) => event.type !== 'workspace_files_checked' && event.type !== 'run_completed',
    )
    const again = begin({
      replies: [],
      spec: worker([wants], { resume: answered }),
      host: memoryHost({ entries: [answered] }),
    })
    expect((await again.end).status).toBe('completed')
    expect(again.host.types.slice(-2)).toEqual(['workspace_files_checked', 'run_completed'])
    expect(again.provider.requests).toEqual([])
    const plain = begin({
      replies: [],
      spec: worker([], { resume: answered }),
      host: memoryHost({ entries: [answered] }),
    })
    await plain.end
    expect(plain.host.types.slice(-2)).toEqual(['assistant_message_added', 'run_completed'])
  })
})

describe('facts of tool calls', () => {
  const tools = [probe('count', ({ n }) => ({ counted: n, padding: 'x'.repeat(10_000) }))]
  const replies = () => [calls(['count', { n: 12 }]), says('There are 12.')]

  it('arguments reach the gate when a requirement reads them', async () => {
    const right: EvidenceRequirement = { kind: 'tool_succeeded', tool: 'count', arguments_match: { n: 12 } }
    const wrong: EvidenceRequirement = { kind: 'tool_succeeded', tool: 'count', arguments_match: { n: 13 } }
    const loop = begin({ replies: replies(), tools, spec: worker([right, wrong]) })
    const { checks } = evaluateEvidence([right, wrong], (await loop.end).facts)
    expect(checks.map((check) => check.status)).toEqual(['passed', 'failed'])
    const asked = eventOf(loop.host, 'assistant_message_added')?.taskseq
    expect(checks[0]?.rests_on).toEqual([asked, eventOf(loop.host, 'tool_result_recorded')?.taskseq])
  })

  it('results reach the gate when a requirement reads them', async () => {
    const wants: EvidenceRequirement = { kind: 'numbers_from_tools', tools: ['count'] }
    const { end } = begin({ replies: replies(), tools, spec: worker([wants]) })
    expect(evaluateEvidence([wants], (await end).facts)).toMatchObject({ passed: true })
    const other = begin({
      replies: [calls(['count', { n: 12 }]), says('There are 13.')],
      tools,
      spec: worker([wants]),
    })
    expect(evaluateEvidence([wants], (await other.end).facts)).toMatchObject({ passed: false })
  })

  test.each([
    ['a worker that needs none', () => worker(['be right', { kind: 'tool_succeeded', tool: 'count' }])],
    ['a root', () => rootSpec({ workspace })],
  ])('%s has neither: they do not cross the thread', async (_, spec) => {
    const { end, host } = begin({ replies: replies(), tools, spec: spec() })
    const { facts } = await end
    expect(facts.tools).toEqual([
      { taskseq: expect.any(Number), tool: 'count', success: true, askedSeq: expect.any(Number) },
    ])
    expect(JSON.stringify([facts, host.ends]).length).toBeLessThan(2_000)
  })
})

describe('a raw tool call as the final text (D-42)', () => {
  const raw = '<tool_call>\n{"name": "count", "arguments": {"n": 1}}\n</tool_call>'
  test.each([
    ['a root', () => rootSpec({ workspace })],
    ['a worker', () => worker([])],
    ['a worker whose files are looked for', () => worker([{ kind: 'files_exist', paths: ['x'] }])],
  ])('fails %s', async (_, spec) => {
    const { end, host } = begin({ replies: [says(raw)], spec: spec() })
    expect(await end).toMatchObject({
      status: 'failed',
      failure: { class: 'malformed_output', message: expect.stringContaining('<tool_call>') },
    })
    await turns()
    expect(host.types.at(-1)).toBe('run_failed')
  })

  it("knows the tools a worker's scope keeps from it, and workflows", async () => {
    const spec = () => workerSpec({ part: { allowedToolNames: [] } })
    const call = (name: string) =>
      begin({
        replies: [says(JSON.stringify({ name, arguments: {} }))],
        tools: [probe('count', () => 1)],
        spec: spec(),
      }).end
    expect(
      (await Promise.all(['count', 'GraphWorkflow', 'nobody'].map(call))).map((end) => end.status),
    ).toEqual(['failed', 'failed', 'completed'])
  })

  it('taken up after its answer fails all the same', async () => {
    const first = begin({ replies: [says('fine')], spec: worker([]) })
    await first.end
    const answered = first.host.events
      .filter((event) => event.type !== 'run_completed')
      .map((event) =>
        event.type === 'assistant_message_added'
          ? { ...event, data: { ...event.data, content: raw } }
          : event,
      )
    const again = begin({
      replies: [],
      spec: worker([], { resume: answered }),
      host: memoryHost({ entries: [answered] }),
    })
    expect(await again.end).toMatchObject({ status: 'failed', failure: { class: 'malformed_output' } })
  })
})
