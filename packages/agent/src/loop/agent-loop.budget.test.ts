// A run that is budgeted reserves each call before it makes it.
import { calls, memoryHost, rootSpec, says, toolSpec } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { add, begin, type Given, guided, probe } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import type { EmbeddingProvider } from '../provider/provider-bundle.ts'
import { externalTool } from '../tools/external-tools.ts'
import type { CallNeeds, Granted } from './loop-spec.ts'

const refused: Granted = { kind: 'refused', failure: { class: 'budget_exceeded', message: 'Used up.' } }
const budgeted = { toolCalls: true }

/** Begins a run whose host answers reservations by `grant`. */
function reserving(
  grant: (needs: CallNeeds, nth: number) => Granted | Promise<Granted>,
  given: Omit<Given, 'host'>,
) {
  const asked: CallNeeds[] = []
  const reserve = async (needs: CallNeeds): Promise<Granted> => {
    asked.push(needs)
    return grant(needs, asked.length)
  }
  const host = memoryHost({ services: { reserve } })
  const loop = begin({ ...given, host, spec: { ...(given.spec ?? rootSpec()), budgeted } })
  return { ...loop, asked }
}
const granted = (outputTokensMax = 4_096): Granted => ({ kind: 'granted', outputTokensMax })
const kinds = (asked: readonly CallNeeds[]): string[] =>
  asked.map((needs) => (needs.kind === 'model' ? needs.provider : needs.tool))

describe('a budgeted run', () => {
  it('reserves each request to a model and each call of a tool, and bounds each answer as it is allowed', async () => {
    const loop = reserving((_, nth) => granted(1_000 + nth), {
      replies: [calls(['add', { a: 1, b: 2 }]), says('3')],
      tools: [add],
    })
    expect(await loop.end).toMatchObject({ status: 'completed' })
    expect(kinds(loop.asked)).toEqual(['scripted', 'add', 'scripted'])
    expect(loop.provider.requests.map(({ settings }) => settings?.output_tokens_max)).toEqual([1_001, 1_003])
    const [first] = loop.asked
    expect(first).toMatchObject({ model: loop.provider.model, outputTokensMax: null })
    // Each character of the prompt is at least one byte.
    expect(first?.kind === 'model' && first.inputTokensMax).toBeGreaterThan(
      loop.provider.requests[0]?.messages.reduce((sum, { content }) => sum + (content ?? '').length, 0) ?? 0,
    )
  })

  it('begins no tool before it has its place, and ends before its next answer if it gets none', async () => {
    const tool = probe('look', () => 'seen')
    const loop = reserving((needs) => (needs.kind === 'tool' ? refused : granted()), {
      replies: [calls(['look', {}]), says('never')],
      tools: [tool],
    })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: 'budget_exceeded', message: 'Used up.' },
    })
    expect(tool.calls).toHaveLength(0)
    expect(loop.provider.requests).toHaveLength(1)
    expect(loop.host.types).not.toContain('tool_call_started')
  })

  it('ends without a request if its first one has no place', async () => {
    const loop = reserving(() => refused, { replies: [says('never')] })
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: 'budget_exceeded' } })
    expect(loop.provider.requests).toHaveLength(0)
  })

  it('reserves each model of a route for itself', async () => {
    const loop = reserving(() => granted(), {
      replies: [new ProviderError('provider_refused', 'No.', { status: 401 })],
      fallback: [says('done')],
    })
    expect(await loop.end).toMatchObject({ status: 'completed' })
    expect(kinds(loop.asked)).toEqual(['scripted', 'second'])
  })

  it('reserves the choice of its skills, and goes on without skills if that has no place', async () => {
    const given = {
      ...{ skillSelection: 'model' as const, auxiliary: [says('{"skills":[]}')], replies: [says('done')] },
      skills: [{ ...guided, name: 'count', description: 'Counts words.', guidance: null }],
      spec: rootSpec({ part: { text: 'Count words.' } }),
    }
    const loop = reserving((needs) => (kinds([needs])[0] === 'helper' ? refused : granted()), given)
    expect(await loop.end).toMatchObject({ status: 'completed' })
    expect(kinds(loop.asked)).toEqual(['helper', 'scripted'])
    expect(loop.auxiliary.requests).toHaveLength(0)
    const chosen = loop.host.events.find(({ type }) => type === 'skill_selection_recorded')
    expect(chosen?.data).toMatchObject({ failure: { class: 'budget_exceeded' } })
  })

  it('reserves the embeddings for the choice of its skills, and records what they cost', async () => {
    const embeddings: EmbeddingProvider = {
      ...{ name: 'vectors', model: 'v-1', textsMax: 64 },
      embed: async (texts) => ({
        vectors: texts.map(() => [1, 1]),
        usage: { input_tokens: 7, output_tokens: 0, calls: 1 },
      }),
    }
    const loop = reserving(() => granted(), {
      ...{ skillSelection: 'model' as const, auxiliary: [says('{"skills":[]}')], replies: [says('done')] },
      ...{ embeddings, skills: [{ ...guided, name: 'count', description: 'Counts.', guidance: null }] },
      spec: rootSpec({ part: { text: 'Wie viele Wörter?' } }),
    })
    const end = await loop.end
    expect(kinds(loop.asked)).toEqual(['vectors', 'helper', 'scripted'])
    expect(loop.asked[0]).toMatchObject({ model: 'v-1', outputTokensMax: 0 })
    expect(loop.host.types.slice(0, 3)).toEqual([
      ...['run_started', 'model_call_paid', 'skill_selection_recorded'],
    ])
    expect(loop.host.events[1]?.data).toMatchObject({
      ...{ purpose: 'skill_selection', provider_name: 'vectors', model: 'v-1', usage: { input_tokens: 7 } },
    })
    expect(end.usage.calls).toBe(3)
  })

  it('records the embedding that a search in a knowledge base asked for', async () => {
    const usage = { input_tokens: 3, output_tokens: 0, calls: 1 }
    const paid = { provider_name: 'vectors', model: 'v-1', usage }
    const found = { success: true, content: 'here', error: null, paid }
    const search = externalTool({
      ...{ name: 'kb:handbook', description: 'd', parameters: { type: 'object' } },
      ...{ idempotent: true, permission: 'allow' as const },
    })
    const host = memoryHost({ services: { callExternal: async () => found } })
    const replies = [calls(['kb:handbook', {}, 'c1']), says('seen')]
    const end = await begin({ replies, tools: [search], spec: rootSpec(), host }).end
    const at = host.types.indexOf('tool_result_recorded')
    expect(host.events[at + 1]?.data).toEqual({ purpose: 'knowledge_search', ...paid })
    expect(end.usage.calls).toBe(3)
  })

  it('reserves the call of a tool node', async () => {
    const loop = reserving(() => granted(), {
      ...{ replies: [], tools: [add] },
      spec: toolSpec({ part: { tool: 'add', arguments: { a: 1, b: 2 } } }),
    })
    expect(await loop.end).toMatchObject({ status: 'completed' })
    expect(kinds(loop.asked)).toEqual(['add'])
  })

  it('knows a conversation by what its provider counted, and bounds only what came since', async () => {
    const usage = { input_tokens: 50, output_tokens: 5, calls: 1 }
    const loop = reserving(() => granted(), {
      replies: [{ ...calls(['add', { a: 1, b: 2 }]), usage }, says('3')],
      tools: [add],
    })
    await loop.end
    const [first, , second] = loop.asked
    if (first?.kind !== 'model' || second?.kind !== 'model') throw new Error('No model was asked.')
    expect(second.inputTokensMax).toBeLessThan(first.inputTokensMax)
    expect(second.inputTokensMax).toBeGreaterThan(50)
  })
})
